import { type ErrorFacts, HeddleError } from "../../thread/errors.ts";

/**
 * An invalid agent definition.
 *
 * @example
 * const error = new AgentError({ code: "invalid_agent", path: "maxIterations", message: "maxIterations must be 1 or more." });
 * error.path; // "maxIterations"
 */
export class AgentError extends HeddleError {
  static override readonly className: string = "AgentError";
  /** The invalid field. */
  declare readonly path?: string;

  constructor({ path, ...facts }: ErrorFacts & { readonly path?: string }) {
    super(facts);
    if (path !== undefined) this.path = path;
  }
}
