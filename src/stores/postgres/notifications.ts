import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { portableSha256 } from "../../thread/encoding.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Sql } from "./connection-pool.ts";
import type { Readers } from "./readers.ts";

/**
 * Reports new rows or commands in these threads of a tenant, and which of them have new commands; undefined: any of them.
 * Without ids, or without a tenant, any thread may have changed.
 */
type Wake = (tenant?: string, threadIds?: readonly string[], postedIds?: readonly string[]) => void;

/** The effects of a notification of another process: watchers wake, and listeners of a tenant get a message. */
export interface Hearing {
  readonly wake: Wake;
  readonly message: (tenant: string, message: JsonValue) => void;
}

/** The least time between two notifications of a process, because each one costs a statement and wakes all other processes. */
const GAP_MS = 50;

/** How often one is sent that fails, each time after a longer wait: for three seconds. Then the processes look by themselves. */
const MAX_TRIES = 6;

/** Postgres refuses a payload of 8000 bytes or more. */
const MAX_PAYLOAD_BYTES = 7999;

/** The most messages that wait to be sent. When the database does not answer, the oldest are dropped. */
const MAX_MESSAGES = 1000;

/**
 * Reports to this process and others which threads have new rows. A notification is a hint. It is sent after the commit, on a
 * connection for reads: a NOTIFY inside the transactions would make all commits of the database wait for each other.
 */
export class Notifications {
  readonly #read: Readers["read"];
  readonly #channel: string;
  readonly #hearing: Hearing;
  /** Names this process in its notifications, so that it can ignore them. */
  readonly #node = randomUUID();
  /** The threads to announce, by tenant. */
  readonly #pending = new Map<string, Set<string>>();
  /** The payloads of messages to send, in order. */
  readonly #messages: string[] = [];
  /** The last notification, until it is sent. */
  #sent: Promise<unknown> = Promise.resolve();
  #isSending = false;
  #isListening = false;

  constructor(read: Readers["read"], schema: string, hearing: Hearing) {
    this.#read = read;
    this.#channel = channelOf(schema);
    this.#hearing = hearing;
  }

  /** Whether commits of other processes are announced from now on. */
  get isListening(): boolean {
    return this.#isListening;
  }

  /** Wakes watchers in this process now and those of others soon, with as few notifications as possible. */
  announce(tenant: string, threadIds: readonly string[], postedIds: readonly string[]): void {
    if (threadIds.length === 0) return;
    this.#hearing.wake(tenant, threadIds, postedIds);
    this.#add(tenant, threadIds);
    if (!this.#isSending) void this.#send();
  }

  /** Sends a message to the other processes, soon. Drops it when this process hears none itself: it would get no answer. */
  publish(tenant: string, message: JsonValue): void {
    // Processes of an earlier version read that no thread has changed.
    const payload = JSON.stringify({ node: this.#node, threads: {}, message: [tenant, message] } satisfies Notice);
    if (!this.#isListening || !fits(payload)) return;
    this.#messages.push(payload);
    if (this.#messages.length > MAX_MESSAGES) this.#messages.shift();
    if (!this.#isSending) void this.#send();
  }

  /** Sends what is left, without waiting for the gap. */
  async flush(): Promise<void> {
    await this.#sent;
    if (this.#hasNews) await this.#notify();
  }

  /**
   * Wakes watchers at each notification of another process. These connections must lead to the server itself. The library subscribes again after every reconnect, and then
   * notifications may have been missed. Ignores errors: without LISTEN the stores poll.
   */
  listen(sql: Sql): void {
    const subscribed = (): void => {
      this.#isListening = true;
      this.#hearing.wake();
    };
    sql.listen(this.#channel, (payload) => this.#receive(payload), subscribed).catch(() => {});
  }

  #receive(payload: string): void {
    const notice = readNotice(payload);
    if (notice === undefined) this.#hearing.wake();
    if (notice === undefined || notice.node === this.#node) return;
    for (const [tenant, threadIds] of Object.entries(notice.threads))
      this.#hearing.wake(tenant, threadIds ?? undefined);
    if (notice.message !== undefined) this.#hearing.message(...notice.message);
  }

  get #hasNews(): boolean {
    return this.#pending.size > 0 || this.#messages.length > 0;
  }

  async #send(): Promise<void> {
    this.#isSending = true;
    for (let failures = 0; this.#hasNews; ) {
      const sent = this.#notify();
      this.#sent = sent;
      const isSent = await sent;
      failures = isSent ? 0 : (failures + 1) % MAX_TRIES;
      if (!isSent && failures === 0) this.#pending.clear();
      await sleep(GAP_MS * 2 ** failures, undefined, { ref: false });
    }
    this.#isSending = false;
  }

  /** False if it failed. The threads are announced again then. A message is not: it may have been sent, and must not come twice. */
  async #notify(): Promise<boolean> {
    const changed = new Map(this.#pending);
    const changes = changed.size === 0 ? [] : [noticeOf(this.#node, changed)];
    this.#pending.clear();
    const payloads = [...changes, ...this.#messages.splice(0)];
    const send: Parameters<Readers["read"]>[0] = ({ sql }) =>
      sql`select pg_notify(${this.#channel}, payload) from unnest(${payloads}::text[]) as payload`;
    try {
      await this.#read(send);
      return true;
    } catch {
      for (const [tenant, ids] of changed) this.#add(tenant, ids);
      return false;
    }
  }

  #add(tenant: string, threadIds: Iterable<string>): void {
    const pending = this.#pending.get(tenant) ?? new Set();
    this.#pending.set(tenant, pending);
    for (const id of threadIds) pending.add(id);
  }
}

interface Notice {
  readonly node: string;
  /** The changed threads of each tenant; null when they do not fit into a notification. */
  readonly threads: Readonly<Record<string, readonly string[] | null>>;
  /** A message of a tenant. */
  readonly message?: readonly [tenant: string, message: JsonValue];
}

/** Names the threads if they fit into a notification, else the tenants, else nothing. */
function noticeOf(node: string, pending: ReadonlyMap<string, ReadonlySet<string>>): string {
  const notices: readonly Notice[] = [
    { node, threads: Object.fromEntries([...pending].map(([tenant, ids]) => [tenant, [...ids]])) },
    { node, threads: Object.fromEntries([...pending.keys()].map((tenant) => [tenant, null])) },
  ];
  return notices.map((notice) => JSON.stringify(notice)).find(fits) ?? "";
}

function fits(payload: string): boolean {
  return Buffer.byteLength(payload) <= MAX_PAYLOAD_BYTES;
}

/** Undefined when the payload does not say what has changed. */
function readNotice(payload: string): Notice | undefined {
  try {
    const notice = JSON.parse(payload) as Partial<Notice> | null; // only stores send on this channel
    return notice?.node !== undefined && notice.threads !== undefined ? (notice as Notice) : undefined; // has both fields
  } catch {
    return undefined;
  }
}

/** The channel of one database. The name needs no quotes in SQL. */
function channelOf(schema: string): string {
  return `heddle_${Buffer.from(portableSha256(schema), "base64url").toString("hex").slice(0, 32)}`;
}
