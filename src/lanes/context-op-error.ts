import { type ErrorFacts, HeddleError } from "../thread/errors.ts";

/** Why a context operation was refused. Nothing was written. */
export type ContextOpErrorCode =
  | "context_op_invalid"
  /** `baseSeq` stands between a call and its result. */
  | "context_op_splits_exchange"
  /** `from` is a lane that nothing was written to. */
  | "context_op_lane_unknown"
  /** A branch into a lane that is there already. */
  | "context_op_lane_exists"
  /** This opId was applied before, with another content. */
  | "context_op_id_reused";

/**
 * A context operation that cannot be applied.
 *
 * @example
 * const error = new ContextOpError({ code: "context_op_invalid", path: "opId", message: "opId is missing." });
 * error.path; // "opId"
 */
export class ContextOpError extends HeddleError {
  static override readonly className: string = "ContextOpError";
  declare readonly code: ContextOpErrorCode;
  /** The field that is wrong. */
  declare readonly path?: string;

  constructor({ path, ...facts }: ErrorFacts & { readonly code: ContextOpErrorCode; readonly path?: string }) {
    super(facts);
    if (path !== undefined) this.path = path;
  }
}
