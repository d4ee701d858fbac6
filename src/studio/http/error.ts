import { type ErrorFacts, HeddleError } from "../../thread/errors.ts";

/** A request that Studio refuses, or a Studio that cannot start. `status` is what HTTP calls it. */
export class StudioError extends HeddleError {
  static override readonly className: string = "StudioError";
  readonly status: number;
  /** Of `method_not_allowed`: what is. */
  declare readonly allow?: string;

  constructor({ status, allow, ...facts }: ErrorFacts & { readonly status: number; readonly allow?: string }) {
    super(facts);
    this.status = status;
    if (allow !== undefined) this.allow = allow;
  }
}

/** A field of a query or a body that is not what it has to be; the value itself is not repeated. */
export function badField(name: string, rule: string): StudioError {
  return new StudioError({ code: "invalid_request", status: 400, message: `${name} must be ${rule}.` });
}
