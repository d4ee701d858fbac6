import { type ErrorFacts, HeddleError } from "../../thread/errors.ts";

/** A request that Studio refuses, or a Studio that cannot start. `status` is the HTTP status. */
export class StudioError extends HeddleError {
  static override readonly className: string = "StudioError";
  readonly status: number;
  /** Set for `method_not_allowed`: the allowed methods. */
  declare readonly allow?: string;

  constructor({ status, allow, ...facts }: ErrorFacts & { readonly status: number; readonly allow?: string }) {
    super(facts);
    this.status = status;
    if (allow !== undefined) this.allow = allow;
  }
}

/** An invalid field of a query or a body. The message does not repeat the value, which may be secret. */
export function badField(name: string, rule: string): StudioError {
  return new StudioError({ code: "invalid_request", status: 400, message: `${name} must be ${rule}.` });
}
