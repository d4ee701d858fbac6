import { type RuntimePorts, systemRuntimePorts } from "../../runtime/ports.ts";
import { StoreError } from "../../stores/errors.ts";
import type * as Port from "../../stores/port.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import { Death } from "./death.ts";
import type { Fault, ReadMethod, StoreWrite, WriteMethod } from "./fault.ts";
import type { FaultOptions, FaultStore } from "./fault-options.ts";
import { type FaultPlan, type ReadPlan, seededPlan, seededReadPlan } from "./seeded-plan.ts";

interface Asked {
  readonly method: WriteMethod;
  readonly name?: string | undefined;
  readonly kinds?: readonly string[];
  readonly epoch?: number | undefined;
}

/** The implementation behind `faultStore`. */
export class FaultyStore implements FaultStore {
  readonly writes: StoreWrite[] = [];
  readonly #store: Port.ThreadStore;
  readonly #after: RuntimePorts["after"];
  readonly #death = new Death();
  #plan: FaultPlan | undefined;
  #readPlan: ReadPlan | undefined;
  #reads = 0;

  constructor(store: Port.ThreadStore, options: FaultOptions) {
    const { plan, seed, every = 8, readPlan, readsEvery, after = systemRuntimePorts.after } = options;
    this.#store = store;
    this.#after = after;
    const isSeeded = seed !== undefined && readsEvery !== undefined;
    this.#readPlan = readPlan ?? (isSeeded ? seededReadPlan(seed, readsEvery) : undefined);
    this.#plan = plan ?? (seed === undefined ? undefined : seededPlan(seed, every));
  }

  get isDead(): boolean {
    return this.#death.isOver;
  }

  crash(): void {
    this.#death.come();
  }

  heal(): void {
    this.#plan = undefined;
    this.#readPlan = undefined;
  }

  append(
    threadId: string,
    entries: EntryInput | readonly EntryInput[],
    options?: Port.AppendOptions,
  ): Promise<Port.AppendResult> {
    const kinds = [entries].flat().map((entry: Partial<EntryInput> | null) => String(entry?.kind ?? "note"));
    const asked = { method: "append", name: threadId, kinds, epoch: options?.epoch } as const;
    return this.#write(asked, () => this.#store.append(threadId, entries, options));
  }

  save(thread: Thread): Promise<void> {
    return this.#write({ method: "save", name: (thread as Thread | null)?.id }, () => this.#store.save(thread));
  }

  delete(threadId: string): Promise<boolean> {
    return this.#write({ method: "delete", name: threadId }, () => this.#store.delete(threadId));
  }

  fork(threadId: string, options: Port.ForkOptions): Promise<Port.ThreadInfo> {
    return this.#write({ method: "fork", name: threadId }, () => this.#store.fork(threadId, options));
  }

  putCheckpoint(key: string, value: JsonValue): Promise<void> {
    return this.#write({ method: "putCheckpoint", name: key }, () => this.#store.putCheckpoint(key, value));
  }

  deleteCheckpoint(key: string): Promise<boolean> {
    return this.#write({ method: "deleteCheckpoint", name: key }, () => this.#store.deleteCheckpoint(key));
  }

  claim(threadId: string, options: Port.ClaimOptions): Promise<Port.ClaimResult> {
    return this.#write({ method: "claim", name: threadId }, () => this.#store.claim(threadId, options));
  }

  renew(threadId: string, epoch: number): Promise<Port.ClaimResult> {
    return this.#write({ method: "renew", name: threadId, epoch }, () => this.#store.renew(threadId, epoch));
  }

  release(threadId: string, epoch: number): Promise<void> {
    return this.#write({ method: "release", name: threadId, epoch }, () => this.#store.release(threadId, epoch));
  }

  putBlob(content: JsonValue | Uint8Array): Promise<string> {
    return this.#write({ method: "putBlob" }, () => this.#store.putBlob(content));
  }

  load(threadId: string, options?: Port.LoadOptions): Promise<Thread | undefined> {
    return this.#read("load", threadId, () => this.#store.load(threadId, options));
  }

  list(options?: Port.ListOptions): Promise<Port.ThreadPage> {
    return this.#read("list", undefined, () => this.#store.list(options));
  }

  getCheckpoint(key: string): Promise<JsonValue | undefined> {
    return this.#read("getCheckpoint", key, () => this.#store.getCheckpoint(key));
  }

  getBlob(hash: string): Promise<JsonValue | Uint8Array | undefined> {
    return this.#read("getBlob", hash, () => this.#store.getBlob(hash));
  }

  verify(threadId: string, options?: Port.VerifyOptions): Promise<Port.VerifyReport> {
    return this.#read("verify", threadId, () => this.#store.verify(threadId, options));
  }

  read(threadId: string, options?: Port.ReadOptions): AsyncIterable<Entry> {
    return this.#items("read", threadId, () => this.#store.read(threadId, options));
  }

  feed(options?: Port.FeedOptions): AsyncIterable<Port.FeedItem> {
    return this.#items("feed", undefined, () => this.#store.feed(options));
  }

  watch(threadId: string, options: Port.WatchOptions): AsyncIterable<Entry> {
    return this.#items("watch", threadId, () => this.#store.watch(threadId, options));
  }

  /** Closing is not a write. After a crash it does nothing, because a crashed process closes nothing. */
  close(): Promise<void> {
    return this.#death.isOver ? Promise.resolve() : this.#store.close();
  }

  #read<Result>(method: ReadMethod, name: string | undefined, perform: () => Promise<Result>): Promise<Result> {
    return this.#death.orResult(async () => {
      await this.#disturbed(method, name);
      return perform();
    });
  }

  /** A fault occurs before the first item. */
  async *#items<Item>(
    method: ReadMethod,
    name: string | undefined,
    begin: () => AsyncIterable<Item>,
  ): AsyncIterable<Item> {
    await this.#death.orResult(() => this.#disturbed(method, name));
    yield* this.#death.orItems(begin);
  }

  async #disturbed(method: ReadMethod, name: string | undefined): Promise<void> {
    const fault = this.#readPlan?.({ n: ++this.#reads, method, name });
    if (fault?.type === "fail") throw fault.error ?? unreachable(`The ${method} did not reach the store.`);
    if (fault?.type === "delay") await this.#pause(fault.ms);
  }

  async #write<Result>({ method, name, kinds = [], epoch }: Asked, perform: () => Promise<Result>): Promise<Result> {
    this.#death.check();
    const write = { n: this.writes.length + 1, method, name, kinds, epoch };
    const fault = this.#plan?.(write);
    this.writes.push({ ...write, fault: fault?.type });
    return this.#death.orResult(() => this.#performed(write, fault, perform));
  }

  async #performed<Result>(
    { method, name }: Omit<StoreWrite, "fault">,
    fault: Fault | undefined,
    perform: () => Promise<Result>,
  ): Promise<Result> {
    switch (fault?.type) {
      case undefined:
        return perform();
      case "fail":
        throw fault.error ?? unreachable(`The ${method} did not reach the store.`);
      case "delay":
        await this.#pause(fault.ms);
        return perform();
      case "conflict":
        if (name !== undefined && method === "append") await this.#store.append(name, fault.entry ?? STRANGER);
        return perform();
      case "late": {
        const result = await perform();
        await this.#pause(fault.ms);
        return result;
      }
      case "lost":
        await perform();
        throw unreachable(`The connection broke before the ${method} was acknowledged.`);
      case "never":
        await perform();
        return new Promise(() => undefined);
      case "crash":
        if (fault.when === "after") await perform();
        this.crash();
        throw this.#death.error();
      default:
        return fault satisfies never;
    }
  }

  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#after(ms, resolve);
    });
    this.#death.check();
  }
}

/** The entry of the other writer in a conflict. */
const STRANGER: EntryInput = { kind: "note", payload: { by: "another writer" } };

function unreachable(message: string): StoreError {
  return new StoreError({ code: "store_unreachable", retryable: true, message: `${message} Try again.` });
}
