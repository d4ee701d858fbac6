import { portableSha256 } from "../../thread/encoding.ts";
import { partsOfFork, type RowPart, type StoredOrigin } from "../row-parts.ts";
import type { SqliteConnection, SqlValue } from "./connection.ts";

/** A thread and its pointer, if it is a fork. */
interface Link extends StoredOrigin {
  readonly key: number;
}

/** Where the rows of forks are. */
export class Forks {
  readonly #tenant: string;
  readonly #sql: ReturnType<typeof statements>;

  constructor(connection: SqliteConnection, tenant: string) {
    this.#tenant = tenant;
    this.#sql = statements(connection);
  }

  /** The parts of a fork; undefined for a thread that owns all of its rows. */
  parts(threadId: string): readonly RowPart<number>[] | undefined {
    const link = toLink(this.#sql.byId.get(this.#tenant, threadId));
    return link && this.#partsFrom(threadId, link);
  }

  /** The same for the key of a thread that is a fork. */
  partsOf(threadId: string, key: number): readonly RowPart<number>[] {
    const link = toLink(this.#sql.byKey.get(key));
    return link === undefined ? [] : this.#partsFrom(threadId, link);
  }

  /** Whether the parts are still those of the thread. Another process may have removed it, and keys are used again. */
  isCurrent(threadId: string, parts: readonly RowPart<number>[]): boolean {
    const link = toLink(this.#sql.byId.get(this.#tenant, threadId));
    return link !== undefined && link.key === parts[0]?.owner && link.origin === parts[1]?.owner;
  }

  /** The ids of the forks of a thread and of the forks of these. */
  all(threadId: string): readonly string[] {
    return this.#sql.forks.all(this.#tenant, threadId, threadId).map(([id]) => String(id));
  }

  #partsFrom(threadId: string, first: Link): readonly RowPart<number>[] {
    const links: Link[] = [];
    for (let link: Link | undefined = first; link !== undefined; ) {
      links.push(link);
      link = link.origin === null ? undefined : toLink(this.#sql.byKey.get(link.origin));
    }
    return partsOfFork(threadId, links, portableSha256);
  }
}

function toLink(columns: readonly SqlValue[] | undefined): Link | undefined {
  if (columns === undefined) return undefined;
  const [key, origin, forkSeq, sum] = columns;
  return { key, origin, forkSeq, sum } as Link; // a STRICT table
}

const LINK = "SELECT key, origin, fork_seq, origin_sum FROM threads";

/** The forks of the threads that meet a condition, and the forks of these. */
export function descendants(root: string, isFork: string, found: string): string {
  return `
    WITH RECURSIVE found (key) AS (
      SELECT key FROM threads WHERE ${root} UNION SELECT t.key FROM found JOIN threads t ON ${isFork}
    )
    SELECT t.id FROM found JOIN threads t ON t.key = found.key WHERE t.state IS NULL AND ${found} ORDER BY t.id`;
}

function statements(connection: SqliteConnection) {
  const isFork = "(t.fork_of = found.key OR t.origin = found.key)";
  return {
    byId: connection.prepare(`${LINK} WHERE tenant = ? AND id = ? AND coalesce(origin, origin_sum) IS NOT NULL`),
    byKey: connection.prepare(`${LINK} WHERE key = ?`),
    forks: connection.prepare(descendants("tenant = ? AND id = ?", isFork, "t.id <> ?")),
  };
}

export function keyOf(connection: SqliteConnection, tenant: string, threadId: string): number | undefined {
  const key = connection.prepare("SELECT key FROM threads WHERE tenant = ? AND id = ?").get(tenant, threadId)?.[0];
  return typeof key === "number" ? key : undefined;
}
