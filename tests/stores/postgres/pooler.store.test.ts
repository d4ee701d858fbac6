import { note, storeContract } from "heddle/testing";
import { afterAll, describe, expect, inject, test } from "vitest";
import { freePort } from "../../support/postgres/free-port.ts";
import { startPooler } from "../../support/postgres/start-pooler.ts";
import { spawnWorker } from "../../support/spawn-worker.ts";
import { openStore, schema } from "./open.ts";

const pooler = await startPooler(inject("postgresUrl"));
const isMissing = "missing" in pooler;
const url = isMissing ? "" : pooler.url;

afterAll(async () => {
  if (!isMissing) await pooler.stop();
});

describe.skipIf(isMissing)(`behind PgBouncer in transaction mode${isMissing ? ` (${pooler.missing})` : ""}`, () => {
  test("appends, reads and watches of two stores work on any server connection", async () => {
    const [writing, watching] = [openStore({}, url), openStore({}, url)];
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

  test("a pooler that has no server is store_timeout and may be retried", async () => {
    const dead = new URL(inject("postgresUrl"));
    dead.port = String(await freePort());
    const serverless = await startPooler(dead.href);
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

  describe("the Postgres store keeps the contract", () => {
    const spawn = spawnWorker(`${url}#${schema}`);
    for (const { name, run, skip } of storeContract({
      open: (options) => openStore(options, url),
      spawn,
      timeoutMs: 300_000,
    })) {
      test(name, { skip: skip !== undefined }, run);
    }
  });
});
