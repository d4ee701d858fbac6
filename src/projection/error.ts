import { type ErrorFacts, HeddleError } from "../thread/errors.ts";

/** Tokens of a budget by part. */
export type BudgetParts = { readonly [part: string]: number };

type Facts = ErrorFacts & {
  readonly needed?: number;
  readonly available?: number;
  readonly parts?: BudgetParts;
  readonly neededFromSeq?: number;
  readonly seq?: number;
  readonly kind?: string;
};

/**
 * The context cannot be projected. Codes: `budget_overflow` and `pending_overflow` (with `needed`, `available`, `parts`),
 * `tail_too_short` (with `neededFromSeq`), `entry_unreadable`, `entry_too_new`, `unknown_role` (with `seq` and `kind`),
 * `no_reader` (with `kind`), `invalid_input`.
 */
export class ProjectionError extends HeddleError {
  static override readonly className: string = "ProjectionError";
  /** Tokens that must be shown. */
  declare readonly needed?: number;
  /** Tokens available for them. */
  declare readonly available?: number;
  declare readonly parts?: BudgetParts;
  /** Load the thread from this seq or an earlier one. */
  declare readonly neededFromSeq?: number;
  declare readonly seq?: number;
  declare readonly kind?: string;

  constructor({ needed, available, parts, neededFromSeq, seq, kind, ...facts }: Facts) {
    super(facts);
    const data = { needed, available, parts, neededFromSeq, seq, kind };
    Object.assign(this, Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined)));
  }
}
