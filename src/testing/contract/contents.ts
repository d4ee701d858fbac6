import type { EntryInput } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";
import { note, user } from "../builders.ts";
import { equal, rejects, sameJsonText } from "../check.ts";
import { drain } from "../drain.ts";
import type { Stories, World } from "../world.ts";

/** Valid contents of entries, which are returned unchanged. */
export const contents: Stories = {
  "keys keep their order": ({ store, thread }) =>
    comesBack(store, thread, { zebra: 1, apple: { y: 1, x: 2 }, "2": "two", "1": "one", mango: [] }),

  "text comes back whatever is in it": ({ store, thread }) =>
    comesBack(store, thread, {
      nul: "a\u0000b",
      controls: "\u0001\u001f\u007f\u2028\u2029\ufeff",
      astral: "\u{1F9F6} \u{10FFFF}",
      combining: "e\u0301 is not \u00e9",
      quotes: `"'\\\`%_$1?`,
      lines: "one\r\ntwo\nthree\ttabbed",
      rightToLeft: "\u202eabc",
      notEscaped: "\\u0000",
      empty: "",
      blank: "  ",
    }),

  "odd keys come back": ({ store, thread }) =>
    comesBack(store, thread, {
      "": "no name",
      constructor: "c",
      toString: 1,
      "a.b": 1,
      "a b": 2,
      "\u0000": 3,
      '"': 4,
      "\u{1F9F6}": 5,
    }),

  "a key __proto__ is an own key, in payloads and metadata": async ({ store, thread }) => {
    const odd: JsonObject = JSON.parse('{"__proto__":{"admin":true},"in":[{"__proto__":null}]}');
    await comesBack(store, thread, odd);
    await store.append(thread, note(), { metadata: odd });
    const { metadata = {} } = (await store.load(thread)) ?? {};
    equal(metadata, odd, "metadata");
    equal([Object.hasOwn(metadata, "__proto__"), metadata["admin"]], [true, undefined], "own key");
  },

  "values that look like something else stay text": ({ store, thread }) =>
    comesBack(store, thread, {
      proto: "__proto__",
      nothing: "null",
      number: "1e3",
      date: "2026-01-01T00:00:00.000Z",
      json: '{"a":1}',
      blob: "blob:sha256",
    }),

  "numbers come back exactly": ({ store, thread }) =>
    comesBack(store, thread, {
      numbers: [0, -1, 0.1, 1 / 3, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 2 ** 53, -(2 ** 63), 0.1 + 0.2],
    }),

  "minus zero is zero, as JSON has it": async ({ store, thread }) => {
    const { entries } = await store.append(thread, note({ zero: -0 }));
    equal([entries[0]?.payload["zero"], (await store.load(thread))?.at(0)?.payload["zero"]], [0, 0], "zero");
  },

  "empty and deeply nested values come back": ({ store, thread }) =>
    comesBack(store, thread, {
      empty: {},
      list: [],
      nested: [[], [{}], { a: { b: {} } }],
      nothing: null,
      flags: [true, false, null],
      deep: nest(200),
    }),

  "unknown kinds and versions pass through": async ({ store, thread }) => {
    const foreign: EntryInput[] = [
      { kind: "acme.invoice/v9 \u{1F9F6}", payload: { total: 5 }, v: 42 },
      { kind: "message", payload: { anything: ["goes", { here: true }] }, v: 999 },
      { kind: "k".repeat(128) },
    ];
    const { entries } = await store.append(thread, foreign);
    equal(
      entries.map(({ kind, v }) => ({ kind, v })),
      foreign.map(({ kind, v }) => ({ kind, v })),
      "kinds and versions",
    );
    sameJsonText((await store.load(thread))?.toArray(), entries, "loaded");
  },

  "refs of every scalar type come back": async ({ store, thread }) => {
    const refs = { requestId: "r\u{1F9F6}", iteration: 3, done: true, none: null, zero: 0, "odd key": "\u0000" };
    const { entries } = await store.append(thread, note({}, { refs }));
    sameJsonText(entries[0]?.refs, refs, "answered refs");
    sameJsonText((await store.load(thread))?.at(0)?.refs, refs, "stored refs");
  },

  "times of any age come back": async ({ store, thread }) => {
    const times = [0, -1, -62_135_596_800_000, 1, 4_102_444_800_000, Number.MAX_SAFE_INTEGER];
    await store.append(
      thread,
      times.map((at) => note({}, { at })),
    );
    equal(
      (await drain(store.read(thread))).map(({ at }) => at),
      times,
      "times",
    );
  },

  "metadata of every shape comes back": async ({ store, thread }) => {
    const metadata = { z: 1, a: { nul: "\u0000", list: [1, null, "\u{1F9F6}"] }, "": {}, quote: '"' };
    await store.append(thread, note(), { metadata });
    sameJsonText((await store.load(thread))?.metadata, metadata, "loaded");
    sameJsonText((await store.list()).threads[0]?.metadata, metadata, "listed");
  },

  "a payload of a megabyte comes back whole": ({ store, thread }) =>
    comesBack(store, thread, { text: "wool \u{1F9F6} \u0000 ".repeat(90_000) }),

  "a payload of a megabyte is recognised when it comes again": async ({ store, thread }) => {
    const big = note({ text: "0123456789".repeat(105_000) }, { id: "big" });
    await store.append(thread, big);
    equal((await store.append(thread, big)).replayed, true, "replayed");
    const other = note({ text: `${"0123456789".repeat(104_999)}012345678X` }, { id: "big" });
    await rejects(store.append(thread, other), { code: "entry_id_reused" }, "append of another");
  },

  "what is too large is refused before anything is written": async ({ open, thread }) => {
    const store = await open({ maxEntryChars: 1_000 });
    const batch = [note(), user("x".repeat(2_000))];
    await rejects(store.append(thread, batch), { code: "too_large", threadId: thread }, "append");
    equal(await store.load(thread), undefined, "thread");
    equal((await store.append(thread, user("x".repeat(500)))).rev, 1, "rev");
  },
};

/** The append result, `load` and `read` must give the same text, with this handle and another. */
async function comesBack(store: World["store"], thread: string, payload: JsonObject): Promise<void> {
  const { entries } = await store.append(thread, [note(), note(payload), note()]);
  sameJsonText(entries[1]?.payload, payload, "answered payload");
  sameJsonText((await store.load(thread))?.at(1)?.payload, payload, "loaded payload");
  sameJsonText((await drain(store.read(thread, { fromSeq: 1, toSeq: 1 })))[0]?.payload, payload, "read payload");
  equal((await store.verify(thread)).ok, true, "verify");
}

function nest(depth: number): JsonObject {
  return depth === 0 ? {} : { in: nest(depth - 1) };
}
