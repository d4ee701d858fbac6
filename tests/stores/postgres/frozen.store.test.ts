import { postgresDatabase } from "heddle/postgres";
import { note } from "heddle/testing";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnServer, startPostgres } from "../../support/postgres/start-postgres.ts";
import { openStore, schema } from "./open.ts";
import { retryUntilDone } from "./retry.ts";

let server: OwnServer;

beforeAll(async () => {
  server = await startPostgres({ own: true });
});

afterAll(() => server.stop());

test.each(["store", "database"])(
  "a server whose processes are stopped is store_timeout for a %s, and is used again when it continues",
  async (kind) => {
    const options = { schema, callTimeoutMs: 1500 };
    const database = postgresDatabase(server.url, options);
    const store = kind === "store" ? openStore(options, server.url) : database.tenant("default");
    await retryUntilDone(() => store.append(kind, note({}, { id: "before" })));
    const thaw = await server.freeze();
    try {
      const timedOut = { code: "store_timeout", retryable: true, message: expect.stringContaining("safe to repeat") };
      const stop = new AbortController();
      const watching = Array.fromAsync(store.watch(kind, { fromSeq: 1, signal: stop.signal }));
      await Promise.all([
        expect(store.append(kind, note({}, { id: "during" }))).rejects.toMatchObject(timedOut),
        ...Array.from({ length: 20 }, () => expect(store.load(kind)).rejects.toMatchObject(timedOut)),
        expect(store.claim(kind, { holder: "h", ttlMs: 1000 })).rejects.toMatchObject(timedOut),
      ]);
      stop.abort();
      expect(await watching).toEqual([]);
    } finally {
      thaw();
    }
    await retryUntilDone(() => store.append(kind, note({}, { id: "during" })));
    const thread = await retryUntilDone(() => store.load(kind));
    expect(thread?.toArray().map(({ id }) => id)).toEqual(["before", "during"]);
    await Promise.all([store.close(), database.close()]);
  },
);
