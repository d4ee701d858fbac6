import { Worker } from "node:worker_threads";
import type { SqliteConnection, SqlValue } from "./connection.ts";
import { retryBusy, translateErrors } from "./errors.ts";

/**
 * The source of the worker. It is a text, so that bundlers need no second file. The worker answers a query with rows, a script
 * with whether it was applied, and either with SQLite's error if it fails.
 */
const WORKER = `
const { parentPort, workerData: { path, setUp } } = require("node:worker_threads");
const { DatabaseSync } = require("node:sqlite");
const open = (readOnly) => new DatabaseSync(path, { readOnly, timeout: 5000 });
const reader = open(true);
let writer, rows = [];

function prepare(database, sql) {
  const statement = database.prepare(sql);
  statement.setReturnArrays(true);
  return statement;
}

function query({ sql, values }) {
  return { rows: prepare(reader, sql).all(...values) };
}

function apply({ unchanged, head, putRow, parts }, rows) {
  const nested = new Map();
  const valueOf = (value) => {
    if (typeof value !== "object" || value === null || value instanceof Uint8Array) return value;
    if (!nested.has(value.sql)) nested.set(value.sql, prepare(writer, value.sql));
    return nested.get(value.sql).get(...value.values)[0];
  };
  for (const { sql, values, rows } of unchanged) {
    if (JSON.stringify(prepare(writer, sql).all(...values)) !== rows) return false;
  }
  const [key] = prepare(writer, head.sql).get(...head.values);
  const row = writer.prepare(putRow);
  for (const values of rows) row.run(key, ...values.map(valueOf));
  for (const { sql, rows } of parts) {
    const part = writer.prepare(sql);
    for (const values of rows) part.run(key, ...values);
  }
  return true;
}

function write(script) {
  const own = rows; // whatever fails, no other script may write them
  rows = [];
  if (writer === undefined) {
    const opened = open(false);
    opened.exec(setUp);
    writer = opened;
  }
  writer.exec("BEGIN IMMEDIATE");
  try {
    const isApplied = apply(script, own);
    writer.exec("COMMIT");
    return { isApplied };
  } catch (error) {
    if (writer.isTransaction) writer.exec("ROLLBACK");
    throw error;
  }
}

parentPort.on("message", (message) => {
  if (message.addRows !== undefined) {
    if (message.isFirst) rows = [];
    rows.push(...message.addRows);
    return;
  }
  const { id, script } = message;
  try {
    parentPort.postMessage({ id, ...(script === undefined ? query(message) : write(script)) });
  } catch ({ message, errcode }) {
    parentPort.postMessage({ id, error: { message, errcode } });
  }
});`;

type Rows = readonly (readonly SqlValue[])[];

/** A value that the first column of a query's row gives. */
export interface NestedQuery {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

export type ScriptValue = SqlValue | NestedQuery;

/** A transaction as data. It writes nothing when one of the `unchanged` queries has other rows. */
export interface WriteScript {
  readonly unchanged: readonly (NestedQuery & { readonly rows: Rows })[];
  /** Writes the head and returns the key of the thread. Each row and each part gets the key before its own values. */
  readonly head: NestedQuery;
  readonly putRow: string;
  readonly rowCount: number;
  /** The values of the rows from an index up to another. */
  readonly rows: (from: number, to: number) => readonly (readonly ScriptValue[])[];
  /** Statements to run after the rows, each once for each list of values. */
  readonly parts: readonly { readonly sql: string; readonly rows: Rows }[];
}

interface Answer {
  readonly id: number;
  readonly rows?: Rows;
  readonly isApplied?: boolean;
  readonly error?: { readonly message: string; readonly errcode?: number };
}

/** Queries of smaller files are short. */
const MIN_FILE_BYTES = 4 * 1024 * 1024;

/** Runs a query that may read the whole file: in the worker if there is one and the file is large, else here. */
export async function runLongQuery(
  connection: SqliteConnection,
  worker: WorkerConnection | undefined,
  sql: string,
  values: readonly SqlValue[] = [],
): Promise<Rows> {
  const isLong = worker !== undefined && (await retryBusy(() => fileBytes(connection) >= MIN_FILE_BYTES));
  const rows = isLong ? await retryBusy(() => worker.run(sql, values)) : undefined;
  return rows ?? retryBusy(() => connection.prepare(sql).all(...values));
}

function fileBytes(connection: SqliteConnection): number {
  const [pages] = connection.prepare("PRAGMA page_count").get() ?? [];
  const [size] = connection.prepare("PRAGMA page_size").get() ?? [];
  return Number(pages) * Number(size);
}

/** Rows that are sent to the worker in one turn of the event loop. */
const ROWS_PER_TURN = 250;

/**
 * A second connection in a worker thread, for long queries and large writes, so that they do not block the event loop. It sees
 * what is committed. The thread starts with the first call. It does not keep the process alive when it has nothing to do.
 */
export class WorkerConnection {
  readonly #path: string;
  readonly #setUp: string;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer | undefined>>();
  #lastWrite: Promise<unknown> = Promise.resolve();
  #worker: Worker | undefined;
  #isUsable = true;
  #count = 0;

  /** `setUp` has the pragmas for writing. */
  constructor(path: string, setUp: string) {
    this.#path = path;
    this.#setUp = setUp;
  }

  get isUsable(): boolean {
    return this.#isUsable;
  }

  /** Undefined when no thread can be started here. Rejects with a StoreError. */
  async run(sql: string, values: readonly SqlValue[]): Promise<Rows | undefined> {
    return (await this.#ask({ sql, values }))?.rows;
  }

  /**
   * Applies a script in one transaction. False when the thread has changed. Undefined when the worker was lost: the script
   * may be applied or not. `begin` waits for other writers of this process and is called when all rows are sent.
   */
  write(script: WriteScript, begin: (work: () => Promise<unknown>) => Promise<unknown>): Promise<boolean | undefined> {
    const result = this.#lastWrite.then(() => this.#write(script, begin)); // one at a time: the worker collects rows of one
    this.#lastWrite = result.catch(() => {}); // the caller gets the error
    return result;
  }

  async #write(
    { rows, rowCount, unchanged, ...script }: WriteScript,
    begin: (work: () => Promise<unknown>) => Promise<unknown>,
  ): Promise<boolean | undefined> {
    for (let from = 0; from < rowCount; from += ROWS_PER_TURN) {
      this.#start()?.postMessage({ addRows: rows(from, from + ROWS_PER_TURN), isFirst: from === 0 });
      await new Promise((resolve) => setImmediate(resolve));
    }
    const known = unchanged.map((query) => ({ ...query, rows: JSON.stringify(query.rows) }));
    let answer: Answer | undefined;
    await begin(async () => {
      answer = await this.#ask({ script: { ...script, unchanged: known } });
    });
    return answer?.isApplied;
  }

  async #ask(question: object): Promise<Answer | undefined> {
    const worker = this.#start();
    if (worker === undefined) return undefined;
    const id = this.#count++;
    const answer = Promise.withResolvers<Answer | undefined>();
    this.#waiting.set(id, answer);
    worker.ref();
    worker.postMessage({ id, ...question });
    return answer.promise;
  }

  async close(): Promise<void> {
    this.#isUsable = false;
    await this.#worker?.terminate();
  }

  #start(): Worker | undefined {
    if (this.#worker !== undefined || !this.#isUsable) return this.#isUsable ? this.#worker : undefined;
    try {
      this.#worker = new Worker(WORKER, { eval: true, workerData: { path: this.#path, setUp: this.#setUp } });
    } catch {
      this.#isUsable = false; // a runtime without worker threads, or one that forbids them
      return undefined;
    }
    this.#worker.unref();
    this.#worker.on("message", (answer: Answer) => this.#settle(answer));
    this.#worker.on("error", () => this.#stop());
    this.#worker.on("exit", () => this.#stop());
    return this.#worker;
  }

  #settle(answer: Answer): void {
    const waiting = this.#waiting.get(answer.id);
    this.#waiting.delete(answer.id);
    if (this.#waiting.size === 0) this.#worker?.unref();
    const { error } = answer;
    if (error === undefined) waiting?.resolve(answer);
    else waiting?.reject(toStoreError(Object.assign(new Error(error.message), { errcode: error.errcode })));
  }

  /** The thread has ended. From now on, callers do the work themselves. */
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
