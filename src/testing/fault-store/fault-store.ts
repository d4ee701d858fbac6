import { type RuntimePorts, systemRuntimePorts } from "../../runtime/ports.ts";
import type { Bus } from "../../stores/bus.ts";
import type * as Inbox from "../../stores/command.ts";
import { StoreError } from "../../stores/errors.ts";
import type { Count, CountOptions, Lease, LeaseOptions, Leases } from "../../stores/lease.ts";
import type * as Port from "../../stores/port.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Runnable, TakenThread, TakeOptions } from "../../stores/runnable.ts";
import type { UsageDay } from "../../stores/usage-day.ts";
import type { WaitingPage } from "../../stores/waiting-call.ts";
import type { Entry, EntryInput } from "../../thread/entry.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { Thread } from "../../thread/thread.ts";
import {
  type Fault,
  type FaultOptions,
  type FaultPlan,
  type FaultStore,
  type ReadMethod,
  type ReadPlan,
  type StoreWrite,
  seededPlan,
  seededReadPlan,
  type WriteMethod,
} from "./fault.ts";

/**
 * Wraps a store and injects faults. Writes can fail, be delayed, conflict with other writers, lose their answers, or
 * crash. Reads fail or are delayed only if configured. Inspect the result in the wrapped store.
 * @example
 * const faulty = faultStore(store, { plan: ({ n }) => (n === 2 ? { type: "fail" } : undefined) });
 * await faulty.append("thread_1", { kind: "note" });
 * await faulty.append("thread_1", { kind: "note" }).catch(({ code }) => code); // "store_unreachable"
 * faulty.writes.map(({ method, fault }) => [method, fault]); // [["append", undefined], ["append", "fail"]]
 */
export function faultStore(store: ThreadStore, options: FaultOptions = {}): FaultStore {
  return new FaultyStore(store, options);
}

interface RequestedWrite {
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
  readonly #crash = new SimulatedCrash();
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

  get isCrashed(): boolean {
    return this.#crash.hasBegun;
  }

  crash(): void {
    this.#crash.begin();
  }

  stopFaults(): void {
    this.#plan = undefined;
    this.#readPlan = undefined;
  }

  append(
    threadId: string,
    entries: EntryInput | readonly EntryInput[],
    options?: Port.AppendOptions,
  ): Promise<Port.AppendResult> {
    const kinds = [entries].flat().map((entry: Partial<EntryInput> | null) => String(entry?.kind ?? "note"));
    const write = { method: "append", name: threadId, kinds, epoch: options?.epoch } as const;
    return this.#write(write, () => this.#store.append(threadId, entries, options));
  }

  save(thread: Thread, options?: Port.CallOptions): Promise<void> {
    return this.#write({ method: "save", name: (thread as Thread | null)?.id }, () =>
      this.#store.save(thread, options),
    );
  }

  delete(threadId: string, options?: Port.DeleteOptions): Promise<Port.Deletion | false> {
    return this.#write({ method: "delete", name: threadId }, () => this.#store.delete(threadId, options));
  }

  fork(threadId: string, options: Port.ForkOptions): Promise<Port.ThreadInfo> {
    return this.#write({ method: "fork", name: threadId }, () => this.#store.fork(threadId, options));
  }

  setOwner(threadId: string, owner: string, options?: Port.CallOptions): Promise<Port.ThreadInfo> {
    return this.#write({ method: "setOwner", name: threadId }, () => this.#store.setOwner(threadId, owner, options));
  }

  putCheckpoint(key: string, value: JsonValue, options?: Port.CallOptions): Promise<void> {
    return this.#write({ method: "putCheckpoint", name: key }, () => this.#store.putCheckpoint(key, value, options));
  }

  deleteCheckpoint(key: string, options?: Port.CallOptions): Promise<boolean> {
    return this.#write({ method: "deleteCheckpoint", name: key }, () => this.#store.deleteCheckpoint(key, options));
  }

  claim(threadId: string, options: Port.ClaimOptions): Promise<Port.ClaimResult> {
    return this.#write({ method: "claim", name: threadId }, () => this.#store.claim(threadId, options));
  }

  renew(threadId: string, epoch: number, options?: Port.CallOptions): Promise<Port.ClaimResult> {
    return this.#write({ method: "renew", name: threadId, epoch }, () => this.#store.renew(threadId, epoch, options));
  }

  release(threadId: string, epoch: number, options?: Port.CallOptions): Promise<void> {
    return this.#write({ method: "release", name: threadId, epoch }, () =>
      this.#store.release(threadId, epoch, options),
    );
  }

  get leases(): Leases | undefined {
    const { leases } = this.#store;
    return (
      leases && {
        start: (options) => this.startLease(leases, options),
        renew: (lease, options) => this.renewLease(leases, lease, options),
        end: (lease, options) => this.endLease(leases, lease, options),
        hasCounters: leases.hasCounters,
        count: (options) => this.count(leases, options),
      }
    );
  }

  startLease(leases: Leases, options: LeaseOptions): Promise<Lease> {
    const write = { method: "startLease", name: (options as LeaseOptions | null)?.node } as const;
    return this.#write(write, () => leases.start(options));
  }

  renewLease(leases: Leases, lease: Port.LeaseKey, options?: Port.CallOptions): Promise<Lease> {
    const write = { method: "renewLease", name: (lease as Lease | null)?.node } as const;
    return this.#write(write, () => leases.renew(lease, options));
  }

  endLease(leases: Leases, lease: Port.LeaseKey, options?: Port.CallOptions): Promise<void> {
    const write = { method: "endLease", name: (lease as Lease | null)?.node } as const;
    return this.#write(write, () => leases.end(lease, options));
  }

  count(leases: Leases, options: CountOptions): Promise<Count> {
    const write = { method: "count", name: (options as CountOptions | null)?.name } as const;
    return this.#write(write, () => leases.count(options));
  }

  get runnable(): Runnable | undefined {
    const { runnable } = this.#store;
    return runnable && { take: (options) => this.take(runnable, options) };
  }

  /** Without faults: any message of a bus may be lost. */
  get maxRowBytes(): number | undefined {
    return this.#store.maxRowBytes;
  }

  get bus(): Bus | undefined {
    return this.#store.bus;
  }

  take(runnable: Runnable, options: TakeOptions): Promise<readonly TakenThread[]> {
    return this.#write({ method: "take", name: undefined }, () => runnable.take(options));
  }

  putBlob(content: JsonValue | Uint8Array, options?: Port.PutBlobOptions): Promise<string> {
    return this.#write({ method: "putBlob" }, () => this.#store.putBlob(content, options));
  }

  post(threadId: string, command: Inbox.CommandInput, options?: Inbox.PostOptions): Promise<Inbox.CommandResult> {
    return this.#write({ method: "post", name: threadId }, () => this.#store.post(threadId, command, options));
  }

  amend(threadId: string, id: string, body: JsonObject, options?: Port.CallOptions): Promise<Inbox.CommandResult> {
    return this.#write({ method: "amend", name: threadId }, () => this.#store.amend(threadId, id, body, options));
  }

  withdraw(threadId: string, id: string, options?: Port.CallOptions): Promise<Inbox.CommandResult> {
    return this.#write({ method: "withdraw", name: threadId }, () => this.#store.withdraw(threadId, id, options));
  }

  pending(threadId: string, options?: Port.CallOptions): Promise<readonly Inbox.Command[]> {
    return this.#read("pending", threadId, () => this.#store.pending(threadId, options));
  }

  usage(options?: Port.UsageOptions): Promise<readonly UsageDay[]> {
    return this.#read("usage", undefined, () => this.#store.usage(options));
  }

  outcome(threadId: string, id: string, options?: Port.CallOptions): Promise<Inbox.CommandOutcome> {
    return this.#read("outcome", threadId, () => this.#store.outcome(threadId, id, options));
  }

  load(threadId: string, options?: Port.LoadOptions): Promise<Thread | undefined> {
    return this.#read("load", threadId, () => this.#store.load(threadId, options));
  }

  list(options?: Port.ListOptions): Promise<Port.ThreadPage> {
    return this.#read("list", undefined, () => this.#store.list(options));
  }

  waiting(options?: Port.WaitingOptions): Promise<WaitingPage> {
    return this.#read("waiting", undefined, () => this.#store.waiting(options));
  }

  getCheckpoint(key: string, options?: Port.CallOptions): Promise<JsonValue | undefined> {
    return this.#read("getCheckpoint", key, () => this.#store.getCheckpoint(key, options));
  }

  getBlob(hash: string, options?: Port.CallOptions): Promise<JsonValue | Uint8Array | undefined> {
    return this.#read("getBlob", hash, () => this.#store.getBlob(hash, options));
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

  onPosted(threadId: string, wake: () => void): () => void {
    if (this.#crash.hasBegun) return () => undefined;
    return this.#store.onPosted(threadId, () => this.#crash.hasBegun || wake());
  }

  /** Closing is not a write, so it has no faults. After a crash it does nothing, as in a crashed process. */
  close(): Promise<void> {
    return this.#crash.hasBegun ? Promise.resolve() : this.#store.close();
  }

  #read<Result>(method: ReadMethod, name: string | undefined, perform: () => Promise<Result>): Promise<Result> {
    return this.#crash.race(async () => {
      await this.#applyReadFault(method, name);
      return perform();
    });
  }

  /** Yields the items of a read. The fault comes before the first item. */
  async *#items<Item>(
    method: ReadMethod,
    name: string | undefined,
    begin: () => AsyncIterable<Item>,
  ): AsyncIterable<Item> {
    await this.#crash.race(() => this.#applyReadFault(method, name));
    yield* this.#crash.raceItems(begin);
  }

  async #applyReadFault(method: ReadMethod, name: string | undefined): Promise<void> {
    const fault = this.#readPlan?.({ n: ++this.#reads, method, name });
    if (fault?.type === "fail") throw fault.error ?? unreachable(`The ${method} did not reach the store.`);
    if (fault?.type === "delay") await this.#pause(fault.ms);
  }

  async #write<Result>(
    { method, name, kinds = [], epoch }: RequestedWrite,
    perform: () => Promise<Result>,
  ): Promise<Result> {
    this.#crash.check();
    const write = { n: this.writes.length + 1, method, name, kinds, epoch };
    const fault = this.#plan?.(write);
    this.writes.push({ ...write, fault: fault?.type });
    return this.#crash.race(() => this.#performWithFault(write, fault, perform));
  }

  async #performWithFault<Result>(
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
        if (name !== undefined && method === "append")
          await this.#store.append(name, fault.entry ?? OTHER_WRITER_ENTRY);
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
        return perform().then(() => new Promise<never>(() => undefined));
      case "crash":
        if (fault.when === "after") await perform();
        this.crash();
        throw this.#crash.error();
      default:
        return fault satisfies never;
    }
  }

  async #pause(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#after(ms, resolve);
    });
    this.#crash.check();
  }
}

/** The entry that the simulated other writer appends in a conflict. */
const OTHER_WRITER_ENTRY: EntryInput = { kind: "note", payload: { by: "another writer" } };

function unreachable(message: string): StoreError {
  return new StoreError({ code: "store_unreachable", retryable: true, message: `${message} Try again.` });
}

/** Simulates a crash of the process: pending store calls get no answer, and new calls are refused. */
class SimulatedCrash {
  readonly #waiting = new Set<() => void>();
  #over = false;

  get hasBegun(): boolean {
    return this.#over;
  }

  begin(): void {
    this.#over = true;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const refuse of waiting) refuse();
  }

  check(): void {
    if (this.#over) throw this.error();
  }

  /** Makes an error that is not retryable, because a crashed process does not return. */
  error(): StoreError {
    const message = "The simulated process has crashed. Open the store again with another faultStore.";
    return new StoreError({ code: "store_closed", message });
  }

  race<Result>(work: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#over) {
        reject(this.error());
        return;
      }
      const refuse = (): void => reject(this.error());
      this.#waiting.add(refuse);
      const settled = (): void => void this.#waiting.delete(refuse);
      work().then(
        (result) => {
          settled();
          if (this.#over) refuse();
          else resolve(result);
        },
        (error: unknown) => {
          settled();
          reject(this.#over ? this.error() : error);
        },
      );
    });
  }

  async *raceItems<Item>(begin: () => AsyncIterable<Item>): AsyncIterable<Item> {
    this.check();
    const items = begin()[Symbol.asyncIterator]();
    try {
      for (;;) {
        const next = await this.race(() => items.next());
        if (next.done) return;
        yield next.value;
      }
    } finally {
      // After a crash, does not wait until the iterator has ended.
      const ended = items.return?.();
      if (this.#over) ended?.catch(() => undefined);
      else await ended;
    }
  }
}
