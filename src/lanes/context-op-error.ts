import { type ErrorFacts, HeddleError } from "../thread/errors.ts";

/** The reason for which a context operation was refused. Nothing was written. */
export type ContextOpErrorCode =
  | "context_op_invalid"
  /** `baseSeq` or `atSeq` is between a call and its result. */
  | "context_op_splits_exchange"
  /** The lane in `from` has no entries. */
  | "context_op_lane_unknown"
  /** The lane to create by a branch exists already. */
  | "context_op_lane_exists"
  /** This opId was applied before with other content. */
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
  /** The field that is wrong, if it is a single one. */
  declare readonly path?: string;

  constructor({ path, ...facts }: ErrorFacts & { readonly code: ContextOpErrorCode; readonly path?: string }) {
    super(facts);
    if (path !== undefined) this.path = path;
  }
}
