import { note } from "heddle/testing";
import { expect, test } from "vitest";
import { startPostgres } from "../../support/postgres/start-postgres.ts";
import { openStore } from "./open.ts";
import { retryUntilDone } from "./retry.ts";

test("a server whose processes are stopped is store_timeout, and is used again when it continues", async () => {
  const server = await startPostgres({ own: true });
  const store = openStore({ callTimeoutMs: 1500 }, server.url);
  await retryUntilDone(() => store.append("t", note({}, { id: "before" })));
  const thaw = await server.freeze();
  try {
    const timedOut = { code: "store_timeout", retryable: true, message: expect.stringContaining("safe to repeat") };
    const stop = new AbortController();
    const watching = Array.fromAsync(store.watch("t", { fromSeq: 1, signal: stop.signal }));
    await Promise.all([
      expect(store.append("t", note({}, { id: "during" }))).rejects.toMatchObject(timedOut),
      expect(store.load("t")).rejects.toMatchObject(timedOut),
      expect(store.claim("t", { holder: "h", ttlMs: 1000 })).rejects.toMatchObject(timedOut),
    ]);
    stop.abort();
    expect(await watching).toEqual([]);
  } finally {
    thaw();
  }
  await retryUntilDone(() => store.append("t", note({}, { id: "during" })));
  expect((await retryUntilDone(() => store.load("t")))?.toArray().map(({ id }) => id)).toEqual(["before", "during"]);
  await store.close();
  await server.stop();
});
