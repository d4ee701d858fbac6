import { Worker } from "node:worker_threads";
import { retryBusy } from "./busy-retry.ts";
import type { SqliteConnection, SqlValue } from "./connection.ts";
import { translateErrors } from "./errors.ts";

/** A text, so that bundlers need no second file. It answers each query with rows or with the error of SQLite. */
const WORKER = `
const { parentPort, workerData } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const database = new DatabaseSync(workerData, { readOnly: true, timeout: 5000 });
parentPort.on("message", ({ id, sql, values }) => {
  try {
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    parentPort.postMessage({ id, rows: statement.all(...values) });
  } catch ({ message, errcode }) {
    parentPort.postMessage({ id, error: { message, errcode } });
  }
});`;

type Rows = readonly (readonly SqlValue[])[];

interface Answer {
  readonly id: number;
  readonly rows?: Rows;
  readonly error?: { readonly message: string; readonly errcode?: number };
}

/** Queries of smaller files are short. */
const MIN_FILE_BYTES = 4 * 1024 * 1024;

/** Runs a query that may read the whole file: in the thread if there is one and the file is large, else here. */
export async function runLongQuery(
  connection: SqliteConnection,
  thread: QueryThread | undefined,
  sql: string,
  values: readonly SqlValue[] = [],
): Promise<Rows> {
  const rows = await retryBusy(() => (fileBytes(connection) < MIN_FILE_BYTES ? undefined : thread?.run(sql, values)));
  return rows ?? retryBusy(() => connection.prepare(sql).all(...values));
}

function fileBytes(connection: SqliteConnection): number {
  const [pages] = connection.prepare("PRAGMA page_count").get() ?? [];
  const [size] = connection.prepare("PRAGMA page_size").get() ?? [];
  return Number(pages) * Number(size);
}

/**
 * Runs long queries on a second connection in a worker thread, so that they do not block the event loop. It sees what is
 * committed. The thread starts with the first query and does not keep the process alive.
 */
export class QueryThread {
  readonly #path: string;
  readonly #waiting = new Map<number, PromiseWithResolvers<Rows | undefined>>();
  #worker: Worker | undefined;
  #isUsable = true;
  #count = 0;

  constructor(path: string) {
    this.#path = path;
  }

  /** Undefined when no thread can be started here. Rejects with a StoreError. */
  async run(sql: string, values: readonly SqlValue[]): Promise<Rows | undefined> {
    const worker = this.#start();
    if (worker === undefined) return undefined;
    const id = this.#count++;
    const answer = Promise.withResolvers<Rows | undefined>();
    this.#waiting.set(id, answer);
    worker.ref();
    worker.postMessage({ id, sql, values });
    return answer.promise;
  }

  async close(): Promise<void> {
    this.#isUsable = false;
    await this.#worker?.terminate();
  }

  #start(): Worker | undefined {
    if (this.#worker !== undefined || !this.#isUsable) return this.#isUsable ? this.#worker : undefined;
    try {
      this.#worker = new Worker(WORKER, { eval: true, workerData: this.#path });
    } catch {
      this.#isUsable = false; // a runtime without worker threads, or one that forbids them
      return undefined;
    }
    this.#worker.on("message", (answer: Answer) => this.#settle(answer));
    this.#worker.on("error", () => this.#stop());
    this.#worker.on("exit", () => this.#stop());
    return this.#worker;
  }

  #settle({ id, rows, error }: Answer): void {
    const answer = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    if (error === undefined) answer?.resolve(rows);
    else answer?.reject(toStoreError(Object.assign(new Error(error.message), { errcode: error.errcode })));
  }

  /** The thread has ended. Its queries are run by the caller. */
  #stop(): void {
    this.#isUsable = false;
    for (const answer of this.#waiting.values()) answer.resolve(undefined);
    this.#waiting.clear();
  }
}

function toStoreError(error: unknown): unknown {
  try {
    return translateErrors(() => {
      throw error;
    });
  } catch (translated) {
    return translated;
  }
}
