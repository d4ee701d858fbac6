import type { Entry } from "../../thread/entry.ts";
import type { Journal } from "./journal.ts";
import type { WorldLog } from "./log.ts";

interface Promise {
  readonly what: string;
  readonly isKept: (log: WorldLog) => boolean;
}

/** Acknowledged writes. Each must be in the log from then on. */
export class Acknowledged {
  readonly #journal: Journal;
  readonly #fresh: Promise[] = [];

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Checked once, before the next write: an append-only log keeps it afterwards. */
  told(what: string, isKept: (log: WorldLog) => boolean): void {
    this.#fresh.push({ what, isKept });
  }

  check(log: WorldLog): void {
    for (const { what, isKept } of this.#fresh.splice(0)) {
      if (!isKept(log)) this.#journal.broken("what was acknowledged is in the log", what);
    }
  }
}

export function hasEntry(log: WorldLog, is: (entry: Entry) => boolean): boolean {
  const { thread } = log;
  for (let seq = thread.lastSeq; seq >= 0; seq--) {
    const entry = thread.at(seq);
    if (entry !== undefined && is(entry)) return true;
  }
  return false;
}
