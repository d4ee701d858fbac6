import type { Entry } from "../../thread/entry.ts";
import type { Journal } from "./journal.ts";
import type { WorldLog } from "./log.ts";

interface Promise {
  readonly what: string;
  readonly isKept: (log: WorldLog) => boolean;
}

/** What somebody was told is durable. From then on it is in the log, whatever happens. */
export class Acknowledged {
  readonly #journal: Journal;
  readonly #fresh: Promise[] = [];

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** Looked at once, before anything else can be written: a log that only grows keeps it from then on. */
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
