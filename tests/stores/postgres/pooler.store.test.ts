import { note } from "heddle/testing";
import { afterAll, describe, expect, inject, test, vi } from "vitest";
import { freePort } from "../../support/postgres/free-port.ts";
import { startPooler } from "../../support/postgres/start-pooler.ts";
import { openStore } from "./open.ts";
import { pooledContract } from "./pooled-contract.ts";

const pooler = await startPooler(inject("postgresUrl"));
const isMissing = "missing" in pooler;
const url = isMissing ? "" : pooler.url;

async function deadUrl(): Promise<string> {
  const dead = new URL(inject("postgresUrl"));
  dead.port = String(await freePort());
  return dead.href;
}

/** Every server has this database. */
function otherDatabase(): string {
  const other = new URL(inject("postgresUrl"));
  other.pathname = "/postgres";
  return other.href;
}

/** Groups about locks, notifications and processes, which a pooler could change. The soak test runs all of them behind it. */
const OF_CONNECTIONS = new Set([
  "concurrency",
  "watch",
  "feed",
  "claim",
  "signal",
  "bus",
  "life",
  "processes",
  "lease",
  "runnable",
]);

afterAll(async () => {
  if (!isMissing) await pooler.stop();
});

describe.skipIf(isMissing)(`behind PgBouncer in transaction mode${isMissing ? ` (${pooler.missing})` : ""}`, () => {
  test("appends, reads and watches of two stores work on any server connection", async () => {
    const [writing, watching] = [openStore({}, url), openStore({ warn: () => {} }, url)];
    const seen: unknown[] = [];
    const done = (async () => {
      for await (const { payload } of watching.watch("pooled", { fromSeq: 0 }))
        if (seen.push(payload["n"]) === 30) return;
    })();
    for (let n = 0; n < 30; n++) {
      await writing.append("pooled", note({ n }));
      await Promise.all([writing.load("pooled"), watching.load("pooled", { last: 2 }), watching.list()]);
    }
    await done;
    expect(seen).toEqual(Array.from({ length: 30 }, (_, n) => n));
  });

  describe("notifications", () => {
    /** Longer than any test, so that a watcher sees only what was announced. */
    const pollMs = 2 ** 31 - 1;

    test("come over listenUrl", async () => {
      const warn = vi.fn();
      const writing = openStore({ warn }, url);
      const watching = openStore({ warn, pollMs, listenUrl: inject("postgresUrl") }, url);
      const watcher = watching.watch("heard", { fromSeq: 0 })[Symbol.asyncIterator]();
      for (let n = 0; n < 5; n++) {
        const next = watcher.next();
        await writing.append("heard", note({ n }));
        expect((await next).value?.payload).toEqual({ n });
      }
      await watching.close();
      expect(warn).not.toHaveBeenCalled();
    });

    test.each<[trouble: string, listenUrl: () => Promise<string | undefined>, words: string]>([
      ["without listenUrl", async () => undefined, "Set the option listenUrl"],
      ["with a listenUrl of the pooler", async () => url, "leads to a pooler"],
      ["with a listenUrl of another database", async () => otherDatabase(), "another database"],
      ["with a listenUrl where nothing listens", deadUrl, "does not work yet"],
    ])("are missed %s, which is said once, and watchers poll", async (_, listenUrl, words) => {
      const warn = vi.fn();
      const [writing, watching] = [openStore({ warn }, url), openStore({ warn, listenUrl: await listenUrl() }, url)];
      await writing.append("polled", note());
      await watching.load("polled");
      expect(warn).not.toHaveBeenCalled(); // nothing is watched yet
      const watchers = [0, 1].map(() => watching.watch("polled", { fromSeq: 0 })[Symbol.asyncIterator]());
      for (const watcher of watchers) await watcher.next();
      const next = watchers.map((watcher) => watcher.next());
      await expect.poll(() => warn.mock.calls.length).toBe(1);
      await writing.append("polled", note({ n: 1 }));
      for (const { value } of await Promise.all(next)) expect(value?.payload).toEqual({ n: 1 });
      await watching.close();
      expect(warn.mock.calls).toEqual([[expect.stringContaining(words)]]);
    });
  });

  test("a pooler that has no server is store_timeout and may be retried", async () => {
    const serverless = await startPooler(await deadUrl());
    if ("missing" in serverless) return;
    const store = openStore({ callTimeoutMs: 2000 }, serverless.url);
    await expect(store.append("t", {})).rejects.toMatchObject({ code: "store_timeout", retryable: true });
    await store.close();
    await serverless.stop();
  });

  test("a refusal by a pooler is store_unreachable and names the pooler", async () => {
    await expect(openStore({}, `${url}?geqo=off`).load("t")).rejects.toMatchObject({
      code: "store_unreachable",
      message: expect.stringContaining("pooler"),
    });
  });

  describe("a database for many tenants keeps the contract", () => {
    for (const { name, group, run, skip } of pooledContract(url)) {
      if (OF_CONNECTIONS.has(group)) test(name, { skip: skip !== undefined }, run);
    }
  });
});
