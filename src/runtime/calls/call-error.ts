import { type ErrorFacts, HeddleError } from "../../thread/errors.ts";

/**
 * A past model call that cannot be rebuilt.
 *
 * @example
 * const error = new CallError({ code: "call_not_found", callId: "call_1", message: "No model call call_1 is recorded." });
 * error.callId; // "call_1"
 */
export class CallError extends HeddleError {
  static override readonly className: string = "CallError";
  declare readonly callId?: string;

  constructor({ callId, ...facts }: ErrorFacts & { readonly callId?: string }) {
    super(facts);
    if (callId !== undefined) this.callId = callId;
  }
}
