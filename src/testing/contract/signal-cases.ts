import type { CallOptions, ThreadStore } from "../../stores/port.ts";
import { Thread } from "../../thread/thread.ts";
import { note, notes } from "../builders.ts";
import { allItems, type CaseFixture, type ContractTests, equal, ok, present, rejects } from "./case-fixture.ts";

/** Cases: the signal of a call. */
export const signalCases: ContractTests = {
  "a call whose signal has aborted already reads and writes nothing": async (fixture) => {
    const { store, thread } = fixture;
    await fill(fixture);
    const before = await snapshot(store, thread);
    const reason = new Error("stopped");
    for (const [name, call] of Object.entries(calls(fixture))) {
      const error = await rejects(call({ signal: AbortSignal.abort(reason) }), { code: "store_aborted" }, name);
      ok(error.cause === reason, `${name}: the cause is the reason of the signal`);
    }
    equal(await snapshot(store, thread), before, "the store");
  },

  "a call with a signal that does not abort answers as without": async (fixture) => {
    await fill(fixture);
    const { signal } = new AbortController();
    for (const [name, call] of Object.entries(calls(fixture)))
      await call({ signal }).catch((error: unknown) => Promise.reject(new Error(name, { cause: error })));
    const stored = present(await fixture.store.load(fixture.thread), "thread");
    equal(stored.toArray().at(-1)?.payload, { n: "last" }, "the last entry");
    equal(stored.rev, 6, "entries");
    equal(await fixture.store.getCheckpoint(fixture.fresh("key")), { n: 2 }, "the checkpoint");
  },

  "an append that is aborted while it runs is stored whole or not at all": async ({ store, thread, fresh }) => {
    const batches = Array.from({ length: 20 }, (_, n) => [
      note({ n }, { id: fresh(`${n}a`) }),
      note({ n }, { id: fresh(`${n}b`) }),
    ]);
    const outcomes = await Promise.allSettled(
      batches.map((batch, n) => {
        const stop = new AbortController();
        const call = store.append(thread, batch, { signal: stop.signal });
        if (n % 4 === 0) stop.abort();
        else if (n % 4 === 1) setTimeout(() => stop.abort());
        return call;
      }),
    );
    for (const outcome of outcomes)
      if (outcome.status === "rejected")
        await rejects(Promise.reject(outcome.reason), { code: "store_aborted" }, "an append");
    for (const batch of batches) await store.append(thread, batch);
    const ids = present(await store.load(thread), "thread")
      .toArray()
      .map(({ id }) => id);
    equal(
      ids.toSorted(),
      batches
        .flat()
        .map(({ id }) => id)
        .toSorted(),
      "each entry once",
    );
    for (let index = 0; index < ids.length; index += 2)
      equal(ids[index + 1], ids[index]?.replace(/a$/, "b"), "a batch stands together");
  },

  "a read ends when its signal aborts, and the store goes on": async ({ store, thread }) => {
    await store.append(thread, notes(3));
    for (let n = 0; n < 10; n++) {
      const stop = new AbortController();
      const call = allItems(store.read(thread, { signal: stop.signal })).catch(() => "aborted");
      stop.abort();
      await call;
    }
    equal(present(await store.load(thread), "thread").rev, 3, "rev");
  },

  "what is no signal is refused": async (fixture) => {
    await fill(fixture);
    for (const [name, call] of Object.entries(calls(fixture)))
      await rejects(call({ signal: {} } as CallOptions), { code: "invalid_options" }, name); // invalid on purpose
  },
};

async function fill({ store, thread, fresh }: CaseFixture): Promise<void> {
  await store.append(thread, notes(5));
  await store.append(fresh("other"), note());
  await store.putCheckpoint(fresh("key"), { n: 1 });
  for (const id of ["settled", "waiting"]) await store.post(thread, { id, type: "ask" });
  await store.withdraw(thread, "settled");
}

type Call = (options: CallOptions) => Promise<unknown>;

/** A call of every method with a signal. Those that write change the thread, another one or a record. */
function calls({ store, thread, fresh }: CaseFixture): Readonly<Record<string, Call>> {
  const built = Thread.create({ id: fresh("built") }).append(note());
  return {
    append: (options) => store.append(thread, note({ n: "last" }), options),
    load: (options) => store.load(thread, options),
    read: (options) => allItems(store.read(thread, options)),
    save: (options) => store.save(built, options),
    list: (options) => store.list(options),
    delete: (options) => store.delete(fresh("other"), options),
    fork: (options) => store.fork(thread, { atSeq: 1, newId: fresh("fork"), ...options }),
    claim: (options) => store.claim(thread, { holder: "holder", ttlMs: 60_000, ...options }),
    renew: (options) => store.renew(thread, 1, options),
    release: (options) => store.release(thread, 1, options),
    post: (options) => store.post(thread, { id: "new", type: "ask" }, options),
    pending: (options) => store.pending(thread, options),
    amend: (options) => store.amend(thread, "waiting", { n: 1 }, options),
    withdraw: (options) => store.withdraw(thread, "waiting", options),
    outcome: (options) => store.outcome(thread, "settled", options),
    putCheckpoint: (options) => store.putCheckpoint(fresh("key"), { n: 2 }, options),
    getCheckpoint: (options) => store.getCheckpoint(fresh("key"), options),
    deleteCheckpoint: (options) => store.deleteCheckpoint(fresh("none"), options),
    putBlob: (options) => store.putBlob("blob", options),
    getBlob: (options) => store.getBlob("hash", options),
    verify: (options) => store.verify(thread, options),
  };
}

async function snapshot(store: ThreadStore, thread: string): Promise<unknown> {
  return {
    page: await store.list(),
    commands: await store.pending(thread),
    entries: (await store.load(thread))?.toArray(),
  };
}
