import { type ErrorFacts, HeddleError } from "../thread/errors.ts";
import type { CommandOutcome } from "./command.ts";
import type { LeaseKey } from "./port.ts";

/**
 * A failure of a store, or a wrong call to it. Codes without a subclass: `thread_not_found`,
 * `thread_exists`, `thread_diverged`, `owner_mismatch`, `seq_out_of_range`, `feed_epoch_changed`, `not_a_thread`, `invalid_options`, `too_large`, `store_closed`, `store_aborted`, `store_busy`, `store_unreachable`, `store_timeout`,
 * `store_auth_failed`, `store_read_only`, `store_schema_newer`, `store_not_heddle`, `store_url_invalid`, `store_driver_missing`,
 * `store_driver_outdated`, `store_unsupported`, `store_failed`.
 */
export class StoreError extends HeddleError {
  static override readonly className: string = "StoreError";
  declare readonly threadId?: string;

  constructor(facts: ErrorFacts & { threadId?: string | undefined }) {
    super(facts);
    if (facts.threadId !== undefined) this.threadId = facts.threadId;
  }
}

/** Another writer appended first. Load the thread, decide again, and append with the actual revision. */
export class ConflictError extends StoreError {
  static override readonly className: string = "ConflictError";
  readonly expected: number;
  readonly actual: number;

  constructor(threadId: string, expected: number, actual: number, why = `is at revision ${actual}, not ${expected}`) {
    const message = `Thread ${threadId} ${why}. Load it again, and use that revision.`;
    super({ code: "conflict", threadId, message });
    this.expected = expected;
    this.actual = actual;
  }
}

/** Some ids are already used, for other content or for only a part of the batch. Nothing was written. */
export class EntryIdReuseError extends StoreError {
  static override readonly className: string = "EntryIdReuseError";
  readonly entryIds: readonly string[];

  constructor(
    threadId: string,
    entryIds: readonly string[],
    trouble: string,
    fix = "A retry must repeat the whole batch as it was.",
  ) {
    const message = `Thread ${threadId}: ${entryIds.join(", ")} ${trouble}. ${fix}`;
    super({ code: "entry_id_reused", threadId, message });
    this.entryIds = entryIds;
  }
}

/** The generator of ids returned one that the thread has. A new entry must not be taken for a retry. */
export function repeatedByOption(threadId: string, entryIds: readonly string[]): EntryIdReuseError {
  const fix = "Give the store an option ids that returns a new id at every call, or none.";
  return new EntryIdReuseError(threadId, entryIds, "repeated by the option ids", fix);
}

/** A command of an inbox cannot be posted, changed or consumed like this. Nothing was written. */
export class CommandError extends StoreError {
  static override readonly className: string = "CommandError";
  readonly commandId: string;
  /** The outcome that the command already has. */
  declare readonly outcome?: CommandOutcome;

  constructor(facts: ErrorFacts & { threadId: string; commandId: string; outcome?: CommandOutcome | undefined }) {
    super(facts);
    this.commandId = facts.commandId;
    if (facts.outcome !== undefined) this.outcome = facts.outcome;
  }
}

/** Stored data is damaged. Restore the thread from a backup; `verify` reports how many entries are good. */
export class CorruptionError extends StoreError {
  static override readonly className: string = "CorruptionError";
  /** The first bad entry; -1 when the thread's own record or the file is damaged. */
  readonly seq: number;

  constructor(facts: {
    threadId?: string | undefined;
    seq: number;
    trouble: string;
    cause?: unknown;
    code?: string;
    advice?: string;
  }) {
    const { threadId, seq, trouble, cause, code } = { code: "corrupt", ...facts };
    const where = threadId === undefined ? "The store" : `Thread ${threadId}${seq < 0 ? "" : `, entry ${seq}`}`;
    const usual = seq < 0 ? "Restore it from a backup." : "Everything before is good; restore the rest from a backup.";
    const message = `${where} is damaged: ${trouble}. ${facts.advice ?? usual}`;
    super({ code, threadId, message, cause });
    this.seq = seq;
  }
}

/**
 * A file or a long text of an entry is missing (`blob_missing`), or is not what was written (`blob_damaged`). The entry
 * cannot be read; all entries without this blob can.
 */
export class BlobError extends CorruptionError {
  static override readonly className: string = "BlobError";
  readonly entryId: string;
  readonly hash: string;

  constructor(facts: { threadId: string; seq: number; entryId: string; hash: string; isThere: boolean }) {
    const { threadId, seq, entryId, hash, isThere } = facts;
    const trouble = `its blob ${hash} ${isThere ? "does not match its hash" : "is missing"}`;
    const advice = `Restore the blob from a backup, for example with putBlob. Entries without it are good.`;
    const { code } = isThere ? { code: "blob_damaged" } : { code: "blob_missing" };
    super({ code, threadId, seq, trouble, advice });
    this.entryId = entryId;
    this.hash = hash;
  }
}

/** Another holder has claimed the thread until `until`. */
export class ThreadHeldError extends StoreError {
  static override readonly className: string = "ThreadHeldError";
  readonly holder: string;
  readonly until: number;
  /** `command`: the call that needs the claim. */
  constructor(threadId: string, holder: string, until: number, command?: string) {
    const held = `Thread ${threadId} is held by ${holder} until ${new Date(until).toISOString()}.`;
    const later =
      command === undefined
        ? "Follow it with watch, or claim it later."
        : `Call ${command} in the process of ${holder}, or later, when it has released the thread.`;
    super({ code: "thread_held", threadId, retryable: true, message: `${held} ${later}` });
    this.holder = holder;
    this.until = until;
  }
}

/** The claim with this epoch is over: another claim was made, or it was released. Stop working on the thread. */
export class StaleHolderError extends StoreError {
  static override readonly className: string = "StaleHolderError";
  readonly epoch: number;
  readonly current: number;
  /** The current holder of the thread; absent when the thread is released. */
  declare readonly holder?: string;
  /** When the current holder's claim ends, unless it is renewed. */
  declare readonly until?: number;

  constructor(threadId: string, epoch: number, current: number, since?: { holder: string; until: number }) {
    const by = since === undefined ? "" : ` of ${since.holder}`;
    const why = epoch === current ? "it was released" : `the claim is at ${current}${by}`;
    const message = `Epoch ${epoch} of thread ${threadId} is over: ${why}. Stop, and claim the thread again.`;
    super({ code: "stale_holder", threadId, message });
    this.epoch = epoch;
    this.current = current;
    if (since !== undefined) {
      this.holder = since.holder;
      this.until = since.until;
    }
  }
}

/** The lease of this node is over, so it holds no threads any more. Stop its work, and start a new lease. */
export class LeaseEndedError extends StoreError {
  static override readonly className: string = "LeaseEndedError";
  readonly node: string;
  readonly incarnation: number;

  constructor({ node, incarnation }: LeaseKey) {
    const message = `The lease ${incarnation} of node ${node} has ended, so other nodes can take its threads. Stop its work, and start a new lease.`;
    super({ code: "lease_ended", message });
    this.node = node;
    this.incarnation = incarnation;
  }
}

/** The disk is full. Nothing of the append was written. Reads still work; appends work again when there is space. */
export class StoreFullError extends StoreError {
  static override readonly className: string = "StoreFullError";

  constructor(cause: unknown) {
    super({
      code: "store_full",
      retryable: true,
      cause,
      message: "The store's disk is full. Free some space and try again.",
    });
  }
}

/** The error of a call that names a missing thread. For drivers and wrappers of stores. */
export function threadNotFound(threadId: string): StoreError {
  return new StoreError({
    code: "thread_not_found",
    threadId,
    message: `There is no thread ${threadId} in this store.`,
  });
}

/** The error of a call on a closed store. For drivers and wrappers of stores. */
export function storeClosed(): StoreError {
  return new StoreError({ code: "store_closed", message: "This store is closed. Open it again before using it." });
}

/** The error of a driver that was written for an earlier version. */
export function driverOutdated(what: string, see: string): StoreError {
  const message = `The driver of this store has no ${what}. Update it: see StoreDriver, ${see}.`;
  return new StoreError({ code: "store_driver_outdated", message });
}

/** The error of a call that the driver of this store does not support. */
export function unsupported(what: string, part = "scheduling"): StoreError {
  const message = `The driver of this store does not support ${what}. Use a store of heddle, or declare and implement \`${part}\` in your StoreDriver.`;
  return new StoreError({ code: "store_unsupported", message });
}

export function commandTooLarge(
  threadId: string,
  commandId: string,
  path: string,
  size: number,
  limit: number,
): CommandError {
  const message = `Command ${commandId} has a ${path} of ${size} characters; at most ${limit} are allowed. Store large content elsewhere and pass a reference to it.`;
  return new CommandError({ code: "too_large", threadId, commandId, message });
}
