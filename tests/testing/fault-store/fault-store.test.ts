import { memoryStore, type OpenStoreOptions } from "heddle";
import { MemoryDatabase } from "heddle/store";
import { type Fault, faultStore, note, storeContract, WRITE_METHODS } from "heddle/testing";
import { describe, expect, test } from "vitest";

const at = (n: number, fault: Fault) => (write: { readonly n: number }) => (write.n === n ? fault : undefined);

function stopped() {
  const timers: (() => void)[] = [];
  const after = (_ms: number, run: () => void) => {
    timers.push(run);
    return () => undefined;
  };
  return { timers, after };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe("a store in which nothing is to go wrong keeps the contract", () => {
  const database = new MemoryDatabase();
  const open = (options: OpenStoreOptions) => faultStore(memoryStore({ ...options, database }));
  for (const { name, group, run, skip } of storeContract({ open })) test.skipIf(skip)(`${group}: ${name}`, run);
});

describe("a write has the fault of the plan", () => {
  test("it fails, and nothing is written; the next one is fine", async () => {
    const store = memoryStore();
    const faulty = faultStore(store, { plan: at(1, { type: "fail" }) });
    await expect(faulty.append("t", note())).rejects.toMatchObject({ code: "store_unreachable", retryable: true });
    expect(await store.load("t")).toBeUndefined();
    expect(await faulty.append("t", note())).toMatchObject({ rev: 1 });
  });

  test("it fails with the error that is given", async () => {
    const error = new Error("mine");
    await expect(faultStore(memoryStore(), { plan: at(1, { type: "fail", error }) }).putBlob("x")).rejects.toBe(error);
  });

  test("another writer is there first", async () => {
    const faulty = faultStore(memoryStore(), { plan: at(1, { type: "conflict" }) });
    await expect(faulty.append("t", note(), { expectedRev: 0 })).rejects.toMatchObject({ code: "conflict", actual: 1 });
  });

  test("its answer is lost, and a retry is a replay", async () => {
    const faulty = faultStore(memoryStore(), { plan: at(1, { type: "lost" }) });
    await expect(faulty.append("t", note({}, { id: "a" }))).rejects.toMatchObject({ retryable: true });
    expect(await faulty.append("t", note({}, { id: "a" }))).toMatchObject({ rev: 1, replayed: true });
  });

  test.each([
    ["delay", 0],
    ["late", 1],
  ] as const)("%s: it waits", async (type, writtenMeanwhile) => {
    const { timers, after } = stopped();
    const store = memoryStore();
    const faulty = faultStore(store, { plan: at(1, { type, ms: 5 }), after });
    let answered = false;
    const appended = faulty.append("t", note()).then(() => {
      answered = true;
    });
    while (timers.length === 0) await turn();
    expect(answered).toBe(false);
    expect((await store.load("t"))?.rev ?? 0).toBe(writtenMeanwhile);
    for (const fire of timers) fire();
    await appended;
    expect((await store.load("t"))?.rev).toBe(1);
  });

  test("the write never resolves", async () => {
    const store = memoryStore();
    const faulty = faultStore(store, { plan: at(1, { type: "never" }) });
    let isTold = false;
    void faulty.append("t", note()).finally(() => {
      isTold = true;
    });
    while ((await store.load("t")) === undefined) await turn();
    await turn();
    expect(isTold).toBe(false);
  });
});

describe("the process dies", () => {
  test.each([
    ["before", undefined],
    ["after", 1],
  ] as const)("%s a write; whatever is asked then is refused", async (when, rev) => {
    const store = memoryStore();
    const faulty = faultStore(store, { plan: at(1, { type: "crash", when }) });
    await expect(faulty.append("t", note())).rejects.toMatchObject({ code: "store_closed", retryable: false });
    expect(faulty.isCrashed).toBe(true);
    expect((await store.load("t"))?.rev).toBe(rev);
    await expect(faulty.load("t")).rejects.toMatchObject({ code: "store_closed" });
    await expect(faulty.claim("t", { holder: "me", ttlMs: 10 })).rejects.toMatchObject({ code: "store_closed" });
    await expect(faulty.watch("t", { fromSeq: 0 })[Symbol.asyncIterator]().next()).rejects.toMatchObject({
      code: "store_closed",
    });
    expect(faulty.writes.map(({ method }) => method)).toEqual(["append"]);
  });

  test("a crash ends pending calls: a delayed write is never written, a watcher is released", async () => {
    const { timers, after } = stopped();
    const store = memoryStore();
    const faulty = faultStore(store, { plan: at(1, { type: "delay", ms: 5 }), after });
    const appended = faulty.append("t", note());
    const watched = faulty.watch("t", { fromSeq: 0 })[Symbol.asyncIterator]().next();
    while (timers.length === 0) await turn();
    faulty.crash();
    await expect(appended).rejects.toMatchObject({ code: "store_closed" });
    await expect(watched).rejects.toMatchObject({ code: "store_closed" });
    for (const fire of timers) fire();
    await turn();
    expect(await store.load("t")).toBeUndefined();
    await store.close();
  });
});

test("every write is recorded, with what it wrote and what was done to it", async () => {
  const faulty = faultStore(memoryStore(), { plan: at(2, { type: "fail" }) });
  await faulty.append("t", [note(), { kind: "error" }], { expectedRev: 0 });
  await faulty.putCheckpoint("k", 1).catch(() => undefined);
  await faulty.putBlob("x");
  const facts = faulty.writes.map(({ n, method, name, kinds, fault }) => [n, method, name, kinds, fault]);
  expect(facts).toEqual([
    [1, "append", "t", ["note", "error"], undefined],
    [2, "putCheckpoint", "k", [], "fail"],
    [3, "putBlob", undefined, [], undefined],
  ]);
});

test("the same seed makes the same writes fail, until faults are stopped", async () => {
  const faultsOf = async (seed: number, heal: boolean) => {
    const after = (_ms: number, run: () => void) => {
      run();
      return () => undefined;
    };
    const faulty = faultStore(memoryStore(), { seed, every: 2, after });
    if (heal) faulty.stopFaults();
    for (let n = 0; n < 40; n++) await faulty.append("t", note()).catch(() => undefined);
    return faulty.writes.map(({ fault }) => fault);
  };
  const faults = await faultsOf(3, false);
  expect(faults).toEqual(await faultsOf(3, false));
  expect(faults).not.toEqual(await faultsOf(4, false));
  expect(new Set(faults)).toEqual(new Set([undefined, "fail", "delay", "late", "lost", "conflict"]));
  expect(new Set(await faultsOf(3, true))).toEqual(new Set([undefined]));
});

test("every method of a store that writes is one of WRITE_METHODS, and the others read", () => {
  const { prototype } = faultStore(memoryStore()).constructor;
  const reads = [
    ...["load", "list", "getCheckpoint", "getBlob", "verify", "read", "feed", "watch", "pending", "outcome"],
    ...["waiting", "usage", "onPosted"],
  ];
  const own = ["constructor", "close", "leases", "runnable", "maxRowBytes", "bus", "isCrashed", "crash", "stopFaults"];
  expect(
    Object.getOwnPropertyNames(prototype)
      .filter((name) => ![...reads, ...own].includes(name))
      .sort(),
  ).toEqual([...WRITE_METHODS].sort());
});

describe("a read has the fault of the plan", () => {
  test("it fails, and the next one is fine", async () => {
    const store = memoryStore();
    await store.append("t", note());
    const faulty = faultStore(store, { readPlan: ({ n }) => (n <= 2 ? { type: "fail" } : undefined) });
    await expect(faulty.load("t")).rejects.toMatchObject({ code: "store_unreachable", retryable: true });
    await expect(Array.fromAsync(faulty.read("t"))).rejects.toMatchObject({ code: "store_unreachable" });
    expect(await Array.fromAsync(faulty.read("t"))).toHaveLength(1);
    expect(faulty.writes).toEqual([]);
  });

  test("it waits, and is then what it is by then", async () => {
    const { timers, after } = stopped();
    const store = memoryStore();
    const faulty = faultStore(store, { readPlan: () => ({ type: "delay", ms: 5 }), after });
    const loaded = faulty.load("t");
    await turn();
    await store.append("t", note());
    for (const run of timers) run();
    expect((await loaded)?.rev).toBe(1);
  });

  test("by the same seed the same reads, and the writes as without them", async () => {
    const outcomes = async (readsEvery: number | undefined) => {
      const faulty = faultStore(memoryStore(), {
        seed: 3,
        every: 2,
        readsEvery,
        after: (_ms, run) => {
          run();
          return () => undefined;
        },
      });
      const reads: boolean[] = [];
      for (let n = 0; n < 20; n++) {
        await faulty.append("t", note()).catch(() => undefined);
        reads.push(
          await faulty.getCheckpoint("k").then(
            () => true,
            () => false,
          ),
        );
      }
      return { reads, writes: faulty.writes.map(({ fault }) => fault) };
    };
    const [one, again, none] = [await outcomes(3), await outcomes(3), await outcomes(undefined)];
    expect(one).toEqual(again);
    expect(one.reads).toContain(false);
    expect(none.reads).not.toContain(false);
    expect(one.writes).toEqual(none.writes);
  });
});
