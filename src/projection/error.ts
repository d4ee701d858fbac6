import { type ErrorFacts, HeddleError } from "../thread/errors.ts";
import type { Thread } from "../thread/thread.ts";

/** The tokens of each part of a budget, such as system prompt and tools. */
export type BudgetParts = { readonly [part: string]: number };

type ProjectionErrorFacts = ErrorFacts & {
  readonly needed?: number;
  readonly available?: number;
  readonly parts?: BudgetParts;
  readonly neededFromSeq?: number;
  readonly windowSeq?: number;
  readonly missingTurns?: number;
  readonly seq?: number;
  readonly kind?: string;
};

/**
 * The context cannot be projected. Codes:
 * - `budget_overflow` and `pending_overflow`, with `needed`, `available` and `parts`;
 * - `tail_too_short`, with `neededFromSeq`, and often `windowSeq` and `missingTurns`;
 * - `entry_unreadable`, `entry_too_new` and `unknown_role`, with `seq` and `kind`;
 * - `no_reader`, with `kind`;
 * - `invalid_input`.
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
  /** An estimate of where the window starts, when that is before the loaded entries. */
  declare readonly windowSeq?: number;
  /** How many turns before the loaded entries are needed from their first entry on, as far as that is known. */
  declare readonly missingTurns?: number;
  declare readonly seq?: number;
  declare readonly kind?: string;

  constructor({
    needed,
    available,
    parts,
    neededFromSeq,
    windowSeq,
    missingTurns,
    seq,
    kind,
    ...facts
  }: ProjectionErrorFacts) {
    super(facts);
    const data = { needed, available, parts, neededFromSeq, windowSeq, missingTurns, seq, kind };
    Object.assign(this, Object.fromEntries(Object.entries(data).filter(([, value]) => value !== undefined)));
  }
}

/** How many entries a typical turn has. */
export const ENTRIES_PER_TURN = 8;

/** Facts about the entries that a tail lacks, as far as they are known. */
interface MissingEntries {
  /** How many times more entries are needed. Default 2. */
  readonly times?: number | undefined;
  /** Whether the window itself starts before the tail. Default: not known. */
  readonly isWindowCut?: boolean | undefined;
  readonly missingTurns?: number | undefined;
}

/**
 * Makes an error that requests `times` the loaded entries plus one turn. If that is still too few, the next error
 * requests more.
 */
export function tailTooShort(thread: Thread, missing: MissingEntries = {}): ProjectionError {
  const { times = 2, isWindowCut, missingTurns } = missing;
  const { firstSeq, rev } = thread;
  const loaded = rev - firstSeq;
  const startAt = (more: number): number => Math.max(0, firstSeq - Math.ceil(loaded * more) - ENTRIES_PER_TURN);
  const neededFromSeq = startAt(Math.min(MOST_TIMES, times - 1));
  const message =
    `Too few entries are loaded to decide what is shown: the first is seq ${firstSeq}. ` +
    `Load the thread from seq ${neededFromSeq}, or let projectFromStore do it.`;
  return new ProjectionError({
    code: "tail_too_short",
    message,
    neededFromSeq,
    ...(isWindowCut && { windowSeq: startAt(times - 1) }),
    ...(missingTurns !== undefined && { missingTurns }),
  });
}

/** Limits the growth of a tail at once, because earlier entries may be much larger. */
const MOST_TIMES = 8;

/**
 * An invalid policy. Codes: `policy_unknown_field`, `policy_invalid_value` (one field is wrong by itself),
 * `policy_impossible` (two fields contradict each other).
 */
export class PolicyError extends HeddleError {
  static override readonly className: string = "PolicyError";
  /** The field in the policy, such as `window.step`. "" when the value is not an object. */
  readonly path: string;

  constructor(facts: ErrorFacts & { path: string }) {
    super(facts);
    this.path = facts.path;
  }
}

/** An error about one wrong field. */
export function invalidValue(path: string, trouble: string, cause?: unknown): PolicyError {
  const subject = path === "" ? "A context policy" : `The policy field ${path}`;
  return new PolicyError({ code: "policy_invalid_value", path, message: `${subject} ${trouble}.`, cause });
}

export function impossible(path: string, message: string): PolicyError {
  return new PolicyError({ code: "policy_impossible", path, message });
}
