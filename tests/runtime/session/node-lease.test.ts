import { memoryStore } from "heddle";
import { MemoryDatabase } from "heddle/store";
import { faultStore, note } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { Holder } from "../../../src/runtime/session/holder.ts";
import { NodeLease } from "../../../src/runtime/session/node-lease.ts";
import { type Clockwork, clockwork } from "../support/clockwork.ts";

const TTL = 9_000;

/** A host that claims threads with one lease, on a store that counts writes. */
function node(time: Clockwork, database: MemoryDatabase, name: string) {
  let timers = 0;
  let frozen = 0;
  const ports = {
    ...time.ports,
    ids: (prefix: string) => `${prefix}_${name}`,
    monotonic: () => time.ports.monotonic() + frozen,
    after: (ms: number, run: () => void) => {
      timers += 1;
      let isOver = false;
      const end = (): void => {
        if (!isOver) timers -= 1;
        isOver = true;
      };
      const cancel = time.ports.after(ms, () => {
        end();
        run();
      });
      return () => {
        end();
        cancel();
      };
    },
  };
  const store = faultStore(memoryStore({ clock: time.ports.clock, database }), { after: time.ports.after });
  if (store.leases === undefined) throw new Error("a memory store keeps leases");
  const lease = new NodeLease(store.leases, { ports, ttlMs: TTL });
  const lost: { readonly threadId: string; readonly error: unknown }[] = [];
  return {
    store,
    lease,
    lost,
    timers: () => timers,
    methods: () => store.writes.map(({ method }) => method),
    freeze: (ms: number) => {
      frozen += ms;
    },
    claim: (threadId: string, waitMs = 0) =>
      Holder.claim(store, threadId, {
        holder: name,
        ttlMs: TTL,
        waitMs,
        ports,
        lease,
        lost: (error) => void lost.push({ threadId, error }),
      }),
  };
}

async function ready(): Promise<{ readonly time: Clockwork; readonly database: MemoryDatabase }> {
  const database = new MemoryDatabase();
  await memoryStore({ database }).load("warm_up"); // loads what is loaded on demand
  return { time: clockwork(), database };
}

describe("the lease of a node", () => {
  test("is renewed once for 1,000 threads, which have no timers of their own", async () => {
    const { time, database } = await ready();
    const one = node(time, database, "one");
    const ids = Array.from({ length: 1_000 }, (_, n) => `t${n}`);
    const holders = await Promise.all(ids.map((id) => one.claim(id)));
    expect(one.methods().filter((method) => method === "startLease")).toHaveLength(1);
    expect(one.timers()).toBe(1);
    const before = one.store.writes.length;
    await time.pass(30_000);
    expect(one.methods().slice(before)).toEqual(Array.from({ length: 10 }, () => "renewLease"));
    expect(holders.every(({ isHeld }) => isHeld)).toBe(true);
    await Promise.all(holders.map((holder) => holder.release()));
    expect(one.timers()).toBe(0);
  });

  test("is not renewed after its last thread was released, and is started again for the next", async () => {
    const { time, database } = await ready();
    const one = node(time, database, "one");
    await (await one.claim("t1")).release();
    await (await one.claim("t2")).release();
    await time.pass(60_000);
    expect(one.methods()).toEqual(["startLease", "claim", "release", "claim", "release"]);
    expect((await one.claim("t1")).isHeld).toBe(true);
    expect(one.methods().slice(5)).toEqual(["startLease", "claim"]);
  });

  test("frees its threads for others when it ends", async () => {
    const { time, database } = await ready();
    const [one, two] = [node(time, database, "one"), node(time, database, "two")];
    await one.claim("t1");
    const refused = await two.claim("t1").catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: "thread_held", holder: "one", until: time.ports.clock() + TTL });
    const waiting = two.claim("t1", 60_000);
    await time.settled();
    await one.lease.end();
    expect((await time.end(waiting)).epoch).toBe(2);
  });

  test("that has ended is never renewed: its threads are lost, each with the process that has it", async () => {
    const { time, database } = await ready();
    const one = node(time, database, "one");
    const [first, second] = [await one.claim("t1"), await one.claim("t2")];
    const { key } = await one.lease.current();
    one.freeze(TTL + 1);
    const later = memoryStore({ clock: () => time.ports.clock() + TTL + 1, database });
    await later.claim("t1", { holder: "two", ttlMs: 60_000 });
    expect([await first.ensure(), await second.ensure()]).toEqual([false, false]);
    expect(one.lost).toMatchObject([
      { threadId: "t1", error: { code: "stale_holder", holder: "two" } },
      { threadId: "t2", error: { code: "stale_holder" } },
    ]);
    await expect(second.check()).rejects.toMatchObject({ code: "stale_holder" });
    const again = await one.claim("t2");
    expect([again.epoch, again.isHeld]).toEqual([2, true]);
    expect((await one.lease.current()).key.incarnation).toBeGreaterThan(key.incarnation);
    const fenced = one.store.append("t2", note(), { epoch: second.epoch });
    await expect(fenced).rejects.toMatchObject({ code: "stale_holder" });
  });

  test("of a process that another one has replaced under its name is lost within one renewal", async () => {
    const { time, database } = await ready();
    const one = node(time, database, "one");
    await one.claim("t1");
    await memoryStore({ clock: time.ports.clock, database }).claim("t1", { holder: "one", ttlMs: 60_000 });
    await time.pass(TTL / 3 + 1);
    expect(one.lost).toMatchObject([{ error: { code: "stale_holder", current: 2, holder: "one" } }]);
  });

  test("that has run out by the clock of the store is renewed for a claim", async () => {
    const { time, database } = await ready();
    const one = node(time, database, "one");
    await one.claim("t1");
    let ahead = 0;
    const store = faultStore(memoryStore({ clock: () => time.ports.clock() + ahead, database }));
    ahead = 2 * TTL; // the store's clock was set
    if (store.leases === undefined) throw new Error("a memory store keeps leases");
    const lease = new NodeLease(store.leases, { ports: time.ports, ttlMs: TTL });
    const options = { holder: "two", ttlMs: TTL, waitMs: 0, ports: time.ports, lease, lost: () => undefined };
    await Holder.claim(store, "t2", options);
    ahead = 4 * TTL;
    expect((await Holder.claim(store, "t3", options)).isHeld).toBe(true);
    expect(store.writes.map(({ method }) => method).slice(2)).toEqual(["claim", "renewLease", "claim"]);
  });
});
