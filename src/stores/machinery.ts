import type { Draft, Entry } from "../thread/entry.ts";
import type { JsonValue } from "../thread/json.ts";
import { checkName } from "../thread/names.ts";
import type { Thread } from "../thread/thread.ts";
import { append } from "./derived/append.ts";
import { claim, release, renew } from "./derived/claims.ts";
import { StoreContext } from "./derived/context.ts";
import { feed, watch } from "./derived/follow.ts";
import { fork } from "./derived/fork.ts";
import { list } from "./derived/list.ts";
import { load } from "./derived/load.ts";
import { read } from "./derived/read.ts";
import { deleteCheckpoint, getBlob, getCheckpoint, putBlob, putCheckpoint } from "./derived/records.ts";
import { save } from "./derived/save.ts";
import { verify } from "./derived/verify.ts";
import type { StoreDriver } from "./driver.ts";
import type * as Port from "./port.ts";
import type { StorePorts } from "./ports.ts";

/** The store operations behind the handle, for any driver. The caller passes copies, which no other code can change. */
export class Machinery {
  readonly #context: StoreContext;

  constructor(driver: StoreDriver, ports: StorePorts) {
    this.#context = new StoreContext(driver, ports);
  }

  append(threadId: string, drafts: readonly Draft[], options: Port.AppendOptions): Promise<Port.AppendResult> {
    return append(this.#open(), threadId, drafts, options);
  }

  load(threadId: string, options: Port.LoadOptions): Promise<Thread | undefined> {
    return load(this.#open(), threadId, options);
  }

  read(threadId: string, options: Port.ReadOptions): AsyncIterable<Entry> {
    return read(this.#context, threadId, options);
  }

  save(thread: Thread): Promise<void> {
    return save(this.#open(), thread);
  }

  list(options: Port.ListOptions): Promise<Port.ThreadPage> {
    return list(this.#open(), options);
  }

  feed(options: Port.FeedOptions): AsyncIterable<Port.FeedItem> {
    return feed(this.#context, options);
  }

  delete(threadId: string): Promise<boolean> {
    checkName("threadId", threadId);
    return this.#open().driver.remove(threadId);
  }

  watch(threadId: string, options: Port.WatchOptions): AsyncIterable<Entry> {
    return watch(this.#context, threadId, options);
  }

  getCheckpoint(key: string): Promise<JsonValue | undefined> {
    return getCheckpoint(this.#open(), key);
  }

  putCheckpoint(key: string, json: string): Promise<void> {
    return putCheckpoint(this.#open(), key, json);
  }

  deleteCheckpoint(key: string): Promise<boolean> {
    return deleteCheckpoint(this.#open(), key);
  }

  fork(threadId: string, options: Port.ForkOptions): Promise<Port.ThreadInfo> {
    return fork(this.#open(), threadId, options);
  }

  claim(threadId: string, options: Port.ClaimOptions): Promise<Port.ClaimResult> {
    return claim(this.#open(), threadId, options);
  }

  renew(threadId: string, epoch: number): Promise<Port.ClaimResult> {
    return renew(this.#open(), threadId, epoch);
  }

  release(threadId: string, epoch: number): Promise<void> {
    return release(this.#open(), threadId, epoch);
  }

  putBlob(content: string | Uint8Array): Promise<string> {
    return putBlob(this.#open(), content);
  }

  getBlob(hash: string): Promise<JsonValue | Uint8Array | undefined> {
    return getBlob(this.#open(), hash);
  }

  verify(threadId: string, options: Port.VerifyOptions = {}): Promise<Port.VerifyReport> {
    return verify(this.#open(), threadId, options);
  }

  close(): Promise<void> {
    return this.#context.close();
  }

  #open(): StoreContext {
    this.#context.checkOpen();
    return this.#context;
  }
}
