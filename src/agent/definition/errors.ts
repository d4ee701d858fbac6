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

type Facts = Omit<ErrorFacts, "code"> & {
  readonly code?: string | undefined;
  readonly path?: string | undefined;
  readonly retryAfterMs?: number | undefined;
};

/**
 * An invalid tool definition, or an error that a tool throws. The model reads `message` and `code`; `retryable: true`
 * allows a retry. Do not put secrets into the message. `cause` goes only to `onError`.
 *
 * @example
 * throw new ToolError({ message: "Too many searches at once.", retryable: true, retryAfterMs: 2_000 });
 */
export class ToolError extends HeddleError {
  static override readonly className: string = "ToolError";
  /** The invalid field, such as `weather.timeoutMs`. */
  declare readonly path?: string;
  /** How long to wait before a retry, in milliseconds. */
  declare readonly retryAfterMs?: number;

  constructor({ code = "tool_failed", path, retryAfterMs, ...facts }: Facts) {
    super({ ...facts, code });
    if (path !== undefined) this.path = path;
    if (retryAfterMs !== undefined) this.retryAfterMs = retryAfterMs;
  }
}
