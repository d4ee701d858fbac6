import { type ErrorFacts, HeddleError } from "../thread/errors.ts";
import type { Thread } from "../thread/thread.ts";

/** The tokens of each part of a budget, such as system prompt and tools. */
export type BudgetParts = { readonly [part: string]: number };

type ProjectionErrorFacts = ErrorFacts & {
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
  /** Tokens of the content that must be shown. */
  declare readonly needed?: number;
  /** Tokens that were available for that content. */
  declare readonly available?: number;
  declare readonly parts?: BudgetParts;
  /** Load the thread again, from this seq or an earlier one. */
  declare readonly neededFromSeq?: number;
  declare readonly seq?: number;
  declare readonly kind?: string;

  constructor({ needed, available, parts, neededFromSeq, seq, kind, ...facts }: ProjectionErrorFacts) {
    super(facts);
    const data = { needed, available, parts, neededFromSeq, seq, kind };
    Object.assign(this, Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined)));
  }
}

/** How many entries a typical turn has. */
const ENTRIES_PER_TURN = 8;

/**
 * Makes an error that requests `times` the loaded entries plus one turn. If that is still too few, the next error
 * requests more.
 */
export function tailTooShort(thread: Thread, times = 2): ProjectionError {
  const { firstSeq, rev } = thread;
  const loaded = rev - firstSeq;
  const neededFromSeq = Math.max(0, firstSeq - Math.ceil(loaded * Math.min(8, times - 1)) - ENTRIES_PER_TURN);
  const message =
    `Too few entries are loaded to decide what is shown: the first is seq ${firstSeq}. ` +
    `Load the thread from seq ${neededFromSeq}, or let projectFromStore do it.`;
  return new ProjectionError({ code: "tail_too_short", message, neededFromSeq });
}
