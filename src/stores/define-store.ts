import type { Entry, EntryInput } from "../thread/entry.ts";
import type { JsonValue } from "../thread/json.ts";
import { checkName } from "../thread/names.ts";
import type { Thread } from "../thread/thread.ts";
import { decideClaim, decideRelease, decideRenew } from "./decide/claim.ts";
import { append } from "./derived/append.ts";
import { StoreContext } from "./derived/context.ts";
import { feed, watch } from "./derived/follow.ts";
import { fork } from "./derived/fork.ts";
import { list } from "./derived/list.ts";
import { load } from "./derived/load.ts";
import { read } from "./derived/read.ts";
import { deleteCheckpoint, getBlob, getCheckpoint, putBlob, putCheckpoint } from "./derived/records.ts";
import { save } from "./derived/save.ts";
import { verify } from "./derived/verify.ts";
import type { Decision, StoreDriver, ThreadState } from "./driver.ts";
import { listQuery } from "./list-query.ts";
import { checkOptions, checkSeq, invalidOption } from "./options.ts";
import type * as Port from "./port.ts";
import type { StoreOptions } from "./ports.ts";

/**
 * A ThreadStore on top of a driver of your own: you move rows, this decides. Prove it with the contract suite of
 * `heddle/testing`.
 *
 * @example
 * const store = defineStore(myDriver(connection));
 */
export function defineStore(driver: StoreDriver, options: StoreOptions = {}): Port.ThreadStore {
  return new DrivenStore(new StoreContext(driver, options));
}

const APPEND = ["expectedRev", "epoch", "metadata", "create"] as const;
const LIST = ["prefix", "order", "status", "search", "limit", "cursor"] as const;

class DrivenStore implements Port.ThreadStore {
  readonly #context: StoreContext;

  constructor(context: StoreContext) {
    this.#context = context;
  }

  async append(
    threadId: string,
    entries: EntryInput | readonly EntryInput[],
    options: Port.AppendOptions = {},
  ): Promise<Port.AppendResult> {
    return append(this.#open(), threadId, entries, checkOptions(options, APPEND));
  }

  async load(threadId: string, options: Port.LoadOptions = {}): Promise<Thread | undefined> {
    return load(this.#open(), threadId, checkOptions(options, ["last", "upToSeq"]));
  }

  read(threadId: string, options: Port.ReadOptions = {}): AsyncIterable<Entry> {
    return read(this.#context, threadId, options);
  }

  async save(thread: Thread): Promise<void> {
    return save(this.#open(), thread);
  }

  async list(options: Port.ListOptions = {}): Promise<Port.ThreadPage> {
    return list(this.#open(), listQuery(checkOptions(options, LIST)));
  }

  feed(options: Port.FeedOptions = {}): AsyncIterable<Port.FeedItem> {
    return feed(this.#context, options);
  }

  async delete(threadId: string): Promise<boolean> {
    checkName("threadId", threadId);
    return this.#open().driver.remove(threadId);
  }

  watch(threadId: string, options: Port.WatchOptions): AsyncIterable<Entry> {
    return watch(this.#context, threadId, options);
  }

  async getCheckpoint(key: string): Promise<JsonValue | undefined> {
    return getCheckpoint(this.#open(), key);
  }

  async putCheckpoint(key: string, value: JsonValue): Promise<void> {
    return putCheckpoint(this.#open(), key, value);
  }

  async deleteCheckpoint(key: string): Promise<boolean> {
    return deleteCheckpoint(this.#open(), key);
  }

  async fork(threadId: string, options: Port.ForkOptions): Promise<Port.ThreadInfo> {
    return fork(this.#open(), threadId, checkOptions(options, ["atSeq", "newId", "metadata"]));
  }

  async claim(threadId: string, options: Port.ClaimOptions): Promise<Port.ClaimResult> {
    checkOptions(options, ["holder", "ttlMs"]);
    checkName("holder", options.holder);
    if (!(Number.isSafeInteger(options.ttlMs) && options.ttlMs > 0))
      throw invalidOption("ttlMs", "a whole number above 0");
    return this.#decide(threadId, (state) => decideClaim(threadId, options, state));
  }

  async renew(threadId: string, epoch: number): Promise<Port.ClaimResult> {
    checkSeq("epoch", epoch);
    return this.#decide(threadId, (state) => decideRenew(threadId, epoch, state));
  }

  async release(threadId: string, epoch: number): Promise<void> {
    checkSeq("epoch", epoch);
    return this.#decide(threadId, (state) => decideRelease(threadId, epoch, state));
  }

  async putBlob(content: JsonValue | Uint8Array): Promise<string> {
    return putBlob(this.#open(), content);
  }

  async getBlob(hash: string): Promise<JsonValue | Uint8Array | undefined> {
    return getBlob(this.#open(), hash);
  }

  async verify(threadId: string): Promise<Port.VerifyReport> {
    return verify(this.#open(), threadId);
  }

  async close(): Promise<void> {
    return this.#context.close();
  }

  #decide<Result>(threadId: string, decide: (state: ThreadState) => Decision<Result>): Promise<Result> {
    checkName("threadId", threadId);
    return this.#open().driver.transact(threadId, [], decide);
  }

  #open(): StoreContext {
    this.#context.checkOpen();
    return this.#context;
  }
}
