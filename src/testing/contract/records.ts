import type { JsonValue } from "../../thread/json.ts";
import { equal, ok, present, sameJsonText } from "../check.ts";
import type { Stories } from "../world.ts";

const VALUES: readonly JsonValue[] = [
  null,
  true,
  0,
  -1.5,
  "",
  "text \u0000 \u{1F9F6}",
  [],
  {},
  [1, [2, { three: null }]],
  { z: 1, a: { "": "\n" } },
];

/** Checkpoints and blobs. */
export const records: Stories = {
  "a checkpoint comes back until it is written again or deleted": async ({ store, open, fresh }) => {
    const key = fresh("checkpoint");
    equal(await store.getCheckpoint(key), undefined, "before");
    await store.putCheckpoint(key, { step: 1 });
    equal(await (await open()).getCheckpoint(key), { step: 1 }, "in another handle");
    await store.putCheckpoint(key, { step: 2 });
    equal(await store.getCheckpoint(key), { step: 2 }, "written again");
    equal(await store.deleteCheckpoint(key), true, "deleted");
    equal(await store.deleteCheckpoint(key), false, "deleted again");
    equal(await store.getCheckpoint(key), undefined, "afterwards");
  },

  "a checkpoint holds any JSON value": async ({ store, fresh }) => {
    for (const value of VALUES) {
      await store.putCheckpoint(fresh("checkpoint"), value);
      sameJsonText(await store.getCheckpoint(fresh("checkpoint")), value, `checkpoint of ${JSON.stringify(value)}`);
    }
  },

  "a checkpoint of a megabyte": async ({ store, fresh }) => {
    const value = { text: "wool \u{1F9F6} ".repeat(120_000) };
    await store.putCheckpoint(fresh("big"), value);
    sameJsonText(await store.getCheckpoint(fresh("big")), value, "checkpoint");
  },

  "checkpoints do not mix with threads or blobs of the same name": async ({ store, thread }) => {
    const hash = await store.putBlob("blob");
    await store.putCheckpoint(hash, "checkpoint");
    await store.putCheckpoint(thread, "checkpoint");
    equal([await store.getBlob(hash), await store.getCheckpoint(hash)], ["blob", "checkpoint"], "under one name");
    equal(await store.load(thread), undefined, "thread");
    await store.deleteCheckpoint(hash);
    equal(await store.getBlob(hash), "blob", "blob");
  },

  "what is written while a checkpoint is written is not mixed into it": async ({ store, fresh }) => {
    const value = { list: [1] };
    const writing = store.putCheckpoint(fresh("c"), value);
    value.list.push(2);
    await writing;
    equal(await store.getCheckpoint(fresh("c")), { list: [1] }, "checkpoint");
  },

  "of checkpoints written at once one is there, whole": async ({ store, open, fresh }) => {
    const other = await open();
    const writes = Array.from({ length: 10 }, (_, n) =>
      (n % 2 === 0 ? store : other).putCheckpoint(fresh("c"), { n, copies: [n, n, n] }),
    );
    await Promise.all(writes);
    const { n, copies } = present(await store.getCheckpoint(fresh("c")), "checkpoint") as {
      n: number;
      copies: number[];
    }; // written above
    equal(copies, [n, n, n], "copies");
  },

  "a blob of JSON comes back under its hash": async ({ store, open }) => {
    const other = await open();
    for (const value of VALUES) {
      const hash = await store.putBlob(value);
      sameJsonText(await other.getBlob(hash), value, `blob of ${JSON.stringify(value)}`);
    }
  },

  "a blob of bytes comes back under its hash": async ({ store }) => {
    for (const bytes of [[], [0], [255, 0, 128, 10, 13], Array.from({ length: 256 }, (_, n) => n)]) {
      const hash = await store.putBlob(Uint8Array.from(bytes));
      const back = await store.getBlob(hash);
      ok(back instanceof Uint8Array, "bytes");
      equal([...back], bytes, "blob");
    }
  },

  "blobs of a megabyte": async ({ store }) => {
    const bytes = new Uint8Array(1 << 20).map((_, n) => n * 31);
    const back = await store.getBlob(await store.putBlob(bytes));
    ok(back instanceof Uint8Array && back.every((byte, n) => byte === bytes[n]), "the bytes come back");
    equal(back.length, bytes.length, "length");
    const json = { text: "wool \u{1F9F6} ".repeat(120_000) };
    sameJsonText(await store.getBlob(await store.putBlob(json)), json, "json");
  },

  "the same content has the same hash, other content another": async ({ store, open }) => {
    const other = await open();
    const hashes = await Promise.all([
      store.putBlob({ a: 1 }),
      other.putBlob({ a: 1 }),
      store.putBlob({ a: 2 }),
      store.putBlob('{"a":1}'),
      store.putBlob(new TextEncoder().encode('{"a":1}')),
      store.putBlob([]),
      store.putBlob(new Uint8Array(0)),
    ]);
    equal(hashes[1], hashes[0], "hash of the same content");
    equal(new Set(hashes).size, 6, "different hashes");
  },

  "an unknown hash has no blob": async ({ store, fresh }) => {
    equal(await store.getBlob(fresh("hash")), undefined, "blob");
  },

  "changing the bytes that were given or got changes nothing stored": async ({ store }) => {
    const given = Uint8Array.of(1, 2, 3);
    const putting = store.putBlob(given);
    given[0] = 9;
    const hash = await putting;
    given[1] = 9;
    const got = await store.getBlob(hash);
    ok(got instanceof Uint8Array, "bytes");
    equal([...got], [1, 2, 3], "blob");
    got[2] = 9;
    const again = await store.getBlob(hash);
    ok(again instanceof Uint8Array, "bytes");
    equal([...again], [1, 2, 3], "blob, got again");
  },
};
