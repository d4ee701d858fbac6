import { note } from "../builders.ts";
import { equal, rejects } from "../check.ts";
import { take } from "../drain.ts";
import type { Stories, World } from "../world.ts";

const NAMES: Readonly<Record<string, unknown>> = {
  "an empty one": "",
  "a dot": ".",
  "two dots": "..",
  "a slash": "a/b",
  "a backslash": "a\\b",
  NUL: "a\u0000b",
  "a line break": "a\nb",
  "white space at the end": "a ",
  "257 characters": "x".repeat(257),
  "a million characters": "x".repeat(1_000_000),
  "a lone surrogate": "a\ud800",
  "a number": 7,
  null: null,
  nothing: undefined,
  "an object": { toString: () => "thread_1" },
  "an array": ["thread_1"],
};

/** Valid names, and a typed error before any write for invalid ones. */
export const names: Stories = {
  ...Object.fromEntries(Object.entries(NAMES).map(([what, name]) => [`no name is ${what}`, refusesName(name)])),

  "no tenant has a name that is no name": async ({ open }) => {
    for (const name of Object.values(NAMES)) {
      if (name === undefined) continue; // the default tenant
      const tenant = name as string; // the type says so, a caller in plain JavaScript may not
      await rejects(
        Promise.resolve().then(() => open({ tenant })),
        { code: "invalid_id" },
        String(name).slice(0, 20),
      );
    }
  },

  "names may be long and in any script": async ({ store, fresh }) => {
    const prefix = fresh("");
    for (const tail of ["\u00fcber \u{1F9F6}", "%_*?", "a:b@c#d", "'; drop table", "__proto__", "x".repeat(200)]) {
      const id = `${prefix}${tail}`;
      equal((await store.append(id, note({}, { id: `e ${tail}` }))).rev, 1, "rev");
      equal((await store.load(id))?.last()?.id, `e ${tail}`, "entry id");
      await store.putCheckpoint(id, tail);
      equal(await store.getCheckpoint(id), tail, "checkpoint");
    }
  },
};

function refusesName(name: unknown) {
  return async ({ store, thread }: World) => {
    const id = name as string; // the type says so, a caller in plain JavaScript may not
    const invalid = { code: "invalid_id" };
    await store.append(thread, note());
    await rejects(store.append(id, note()), invalid, "append");
    await rejects(store.load(id), invalid, "load");
    await rejects(take(1, store.read(id)), invalid, "read");
    await rejects(take(1, store.watch(id, { fromSeq: 0 })), invalid, "watch");
    await rejects(store.delete(id), invalid, "delete");
    await rejects(store.fork(id, { atSeq: 0 }), invalid, "fork");
    await rejects(store.verify(id), invalid, "verify");
    await rejects(store.claim(id, { holder: "me", ttlMs: 1000 }), invalid, "claim");
    await rejects(store.claim(thread, { holder: id, ttlMs: 1000 }), invalid, "holder");
    await rejects(store.renew(id, 1), invalid, "renew");
    await rejects(store.release(id, 1), invalid, "release");
    await rejects(store.getCheckpoint(id), invalid, "getCheckpoint");
    await rejects(store.putCheckpoint(id, 1), invalid, "putCheckpoint");
    await rejects(store.deleteCheckpoint(id), invalid, "deleteCheckpoint");
    await rejects(store.getBlob(id), invalid, "getBlob");
    if (name !== undefined) {
      // Without a name these make one up.
      await rejects(store.fork(thread, { atSeq: 0, newId: id }), invalid, "newId");
      await rejects(store.append(thread, [note(), { id }]), { ...invalid, path: "entries[1].id" }, "entry id");
    }
    equal(
      (await store.list()).threads.map(({ id, rev }) => [id, rev]),
      [[thread, 1]],
      "threads",
    );
  };
}
