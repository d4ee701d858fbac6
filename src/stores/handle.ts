import { draftEntries, type Entry, type EntryInput } from "../thread/entry.ts";
import { copyJson, copyJsonObject, type JsonValue } from "../thread/json.ts";
import { checkName } from "../thread/names.ts";
import type { Thread } from "../thread/thread.ts";
import type { Machinery } from "./machinery.ts";
import { checkOptions, checkSeq } from "./options.ts";
import type * as Port from "./port.ts";
import type { StorePorts } from "./ports.ts";

/**
 * The object that a caller gets as its store. It copies the arguments, so that later changes by the caller have no
 * effect, and passes them to the machinery. The machinery may be loaded lazily: calls wait for it in their order.
 */
export class StoreHandle implements Port.ThreadStore {
  readonly #ports: StorePorts;
  readonly #load: () => Promise<Machinery>;
  #machinery: Machinery | undefined;
  #loading: Promise<Machinery> | undefined;

  constructor(ports: StorePorts, machinery: Machinery | (() => Promise<Machinery>)) {
    this.#ports = ports;
    this.#load = typeof machinery === "function" ? machinery : async () => machinery;
    this.#machinery = typeof machinery === "function" ? undefined : machinery;
  }

  async append(
    threadId: string,
    entries: EntryInput | readonly EntryInput[],
    options: Port.AppendOptions = {},
  ): Promise<Port.AppendResult> {
    const given = checkOptions(options, ["expectedRev", "epoch", "metadata", "create"]);
    checkName("threadId", threadId);
    checkSeq("expectedRev", given.expectedRev);
    checkSeq("epoch", given.epoch);
    const metadata = given.metadata && copyJsonObject(given.metadata, "metadata");
    const drafts = draftEntries(entries, this.#ports);
    return this.#run((machinery) => machinery.append(threadId, drafts, { ...given, metadata }));
  }

  async load(threadId: string, options: Port.LoadOptions = {}): Promise<Thread | undefined> {
    const given = checkOptions(options, ["last", "upToSeq"]);
    return this.#run((machinery) => machinery.load(threadId, given));
  }

  read(threadId: string, options: Port.ReadOptions = {}): AsyncIterable<Entry> {
    return this.#iterate((machinery) => machinery.read(threadId, options));
  }

  async save(thread: Thread): Promise<void> {
    return this.#run((machinery) => machinery.save(thread));
  }

  async list(options: Port.ListOptions = {}): Promise<Port.ThreadPage> {
    const given = checkOptions(options, ["prefix", "order", "status", "search", "limit", "cursor"]);
    return this.#run((machinery) => machinery.list(given));
  }

  feed(options: Port.FeedOptions = {}): AsyncIterable<Port.FeedItem> {
    return this.#iterate((machinery) => machinery.feed(options));
  }

  async delete(threadId: string): Promise<boolean> {
    return this.#run((machinery) => machinery.delete(threadId));
  }

  watch(threadId: string, options: Port.WatchOptions): AsyncIterable<Entry> {
    return this.#iterate((machinery) => machinery.watch(threadId, options));
  }

  async getCheckpoint(key: string): Promise<JsonValue | undefined> {
    return this.#run((machinery) => machinery.getCheckpoint(key));
  }

  async putCheckpoint(key: string, value: JsonValue): Promise<void> {
    const text = JSON.stringify(copyJson(value, "value"));
    return this.#run((machinery) => machinery.putCheckpoint(key, text));
  }

  async deleteCheckpoint(key: string): Promise<boolean> {
    return this.#run((machinery) => machinery.deleteCheckpoint(key));
  }

  async fork(threadId: string, options: Port.ForkOptions): Promise<Port.ThreadInfo> {
    const given = checkOptions(options, ["atSeq", "newId", "metadata"]);
    const metadata = given.metadata && copyJsonObject(given.metadata, "metadata");
    return this.#run((machinery) => machinery.fork(threadId, { ...given, metadata }));
  }

  async claim(threadId: string, options: Port.ClaimOptions): Promise<Port.ClaimResult> {
    const given = checkOptions(options, ["holder", "ttlMs"]);
    return this.#run((machinery) => machinery.claim(threadId, given));
  }

  async renew(threadId: string, epoch: number): Promise<Port.ClaimResult> {
    return this.#run((machinery) => machinery.renew(threadId, epoch));
  }

  async release(threadId: string, epoch: number): Promise<void> {
    return this.#run((machinery) => machinery.release(threadId, epoch));
  }

  async putBlob(content: JsonValue | Uint8Array): Promise<string> {
    const value =
      content instanceof Uint8Array ? new Uint8Array(content) : JSON.stringify(copyJson(content, "content"));
    return this.#run((machinery) => machinery.putBlob(value));
  }

  async getBlob(hash: string): Promise<JsonValue | Uint8Array | undefined> {
    return this.#run((machinery) => machinery.getBlob(hash));
  }

  async verify(threadId: string, options: Port.VerifyOptions = {}): Promise<Port.VerifyReport> {
    const given = checkOptions(options, ["onProgress"]);
    return this.#run((machinery) => machinery.verify(threadId, given));
  }

  async close(): Promise<void> {
    return this.#run((machinery) => machinery.close());
  }

  #run<Result>(call: (machinery: Machinery) => Promise<Result>): Promise<Result> {
    return this.#machinery === undefined ? this.#loaded().then(call) : call(this.#machinery);
  }

  #iterate<Item>(call: (machinery: Machinery) => AsyncIterable<Item>): AsyncIterable<Item> {
    return this.#machinery === undefined ? late(() => this.#loaded(), call) : call(this.#machinery);
  }

  #loaded(): Promise<Machinery> {
    if (this.#loading !== undefined) return this.#loading;
    this.#loading = this.#load();
    // This handler runs before those of the waiting calls, so that a new call does not overtake them.
    this.#loading.then(
      (machinery) => {
        this.#machinery = machinery;
      },
      () => {
        this.#loading = undefined; // the next call retries
      },
    );
    return this.#loading;
  }
}

async function* late<Item>(
  loaded: () => Promise<Machinery>,
  call: (machinery: Machinery) => AsyncIterable<Item>,
): AsyncIterable<Item> {
  yield* call(await loaded());
}
