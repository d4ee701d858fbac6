import type { EntryInput } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";
import { note, user } from "../builders.ts";
import {
  allItems,
  type CaseFixture,
  type ContractTests,
  equal,
  ok,
  present,
  rejects,
  sameJsonText,
} from "./case-fixture.ts";

/** Cases: valid payloads are returned unchanged. */
export const contentCases: ContractTests = {
  "keys keep their order": ({ store, thread }) =>
    checkRoundTrip(store, thread, { zebra: 1, apple: { y: 1, x: 2 }, "2": "two", "1": "one", mango: [] }),

  "text comes back whatever is in it": ({ store, thread }) =>
    checkRoundTrip(store, thread, {
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
    checkRoundTrip(store, thread, {
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
    await checkRoundTrip(store, thread, odd);
    await store.append(thread, note(), { metadata: odd });
    const { metadata = {} } = (await store.load(thread)) ?? {};
    equal(metadata, odd, "metadata");
    equal([Object.hasOwn(metadata, "__proto__"), metadata["admin"]], [true, undefined], "own key");
  },

  "values that look like something else stay text": ({ store, thread }) =>
    checkRoundTrip(store, thread, {
      proto: "__proto__",
      nothing: "null",
      number: "1e3",
      date: "2026-01-01T00:00:00.000Z",
      json: '{"a":1}',
      blob: "blob:sha256",
    }),

  "numbers come back exactly": ({ store, thread }) =>
    checkRoundTrip(store, thread, {
      numbers: [0, -1, 0.1, 1 / 3, 1e21, 1e-7, 5e-324, 1.7976931348623157e308, 2 ** 53, -(2 ** 63), 0.1 + 0.2],
    }),

  "minus zero is zero, as JSON has it": async ({ store, thread }) => {
    const entry = note({ zero: -0, list: [-0] }, { at: -0, refs: { zero: -0 } });
    const { entries } = await store.append(thread, entry, { metadata: { zero: -0 } });
    const loaded = present(await store.load(thread), "thread");
    for (const stored of [entries[0], loaded.at(0), ...(await allItems(store.read(thread)))])
      equal(
        [stored?.at, stored?.payload, stored?.refs],
        [0, { zero: 0, list: [0] }, { zero: 0 }],
        "entry with minus zero",
      );
    equal(loaded.metadata, { zero: 0 }, "metadata");
    const hash = await store.putBlob([-0]);
    await store.putCheckpoint(thread, -0);
    equal([await store.getCheckpoint(thread), await store.getBlob(hash)], [0, [0]], "checkpoint and blob");
  },

  "empty and deeply nested values come back": ({ store, thread }) =>
    checkRoundTrip(store, thread, {
      empty: {},
      list: [],
      nested: [[], [{}], { a: { b: {} } }],
      nothing: null,
      flags: [true, false, null],
      deep: nestedValue(200),
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
      (await allItems(store.read(thread))).map(({ at }) => at),
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
    checkRoundTrip(store, thread, { text: "wool \u{1F9F6} \u0000 ".repeat(90_000) }),

  "a payload of a megabyte is recognized when it comes again": async ({ store, thread }) => {
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

/** Checks that the append result, `load` and `read` give the same text, on this handle and on another. */
async function checkRoundTrip(store: CaseFixture["store"], thread: string, payload: JsonObject): Promise<void> {
  const { entries } = await store.append(thread, [note(), note(payload), note()]);
  sameJsonText(entries[1]?.payload, payload, "answered payload");
  sameJsonText((await store.load(thread))?.at(1)?.payload, payload, "loaded payload");
  sameJsonText((await allItems(store.read(thread, { fromSeq: 1, toSeq: 1 })))[0]?.payload, payload, "read payload");
  equal((await store.verify(thread)).ok, true, "verify");
}

function nestedValue(depth: number): JsonObject {
  return depth === 0 ? {} : { in: nestedValue(depth - 1) };
}

const INVALID_PAYLOADS: Readonly<Record<string, { readonly make: () => unknown; readonly path?: string }>> = {
  "a cycle": { make: cycle, path: "entry.payload.items[0].self" },
  NaN: { make: () => ({ a: { b: Number.NaN } }), path: "entry.payload.a.b" },
  Infinity: { make: () => ({ a: [1, Number.POSITIVE_INFINITY] }), path: "entry.payload.a[1]" },
  "a Date": { make: () => ({ when: new Date(0) }), path: "entry.payload.when" },
  "a Map": { make: () => ({ map: new Map() }), path: "entry.payload.map" },
  "an instance of a class": { make: () => ({ user: new (class User {})() }), path: "entry.payload.user" },
  "an Error": { make: () => ({ error: new Error("no") }), path: "entry.payload.error" },
  bytes: { make: () => ({ bytes: new Uint8Array(2) }), path: "entry.payload.bytes" },
  "a function": { make: () => ({ run: () => 1 }), path: "entry.payload.run" },
  "a symbol": { make: () => ({ mark: Symbol("m") }), path: "entry.payload.mark" },
  "a symbol key": { make: () => ({ in: { [Symbol("m")]: 1 } }), path: "entry.payload.in" },
  "a bigint": { make: () => ({ big: 1n }), path: "entry.payload.big" },
  "undefined in an array": { make: () => ({ list: [1, undefined] }), path: "entry.payload.list[1]" },
  "a hole in an array": { make: () => ({ list: new Array(2) }), path: "entry.payload.list[0]" },
  "a lone surrogate": { make: () => ({ text: "half \ud83e" }), path: "entry.payload.text" },
  "a lone surrogate in a key": { make: () => ({ "\ud83e": 1 }), path: "entry.payload" },
  "a getter that throws": { make: throwing, path: "entry.payload.in.secret" },
  "a revoked proxy": { make: () => ({ proxy: revoked() }), path: "entry.payload.proxy" },
  "no object": { make: () => "text", path: "entry.payload" },
  "a list": { make: () => [1], path: "entry.payload" },
  null: { make: () => null, path: "entry.payload" },
  "too many levels": { make: () => nest(20_000) },
};

/** Cases: an invalid payload fails with a typed error that has the path, before any write. */
export const payloadCases: ContractTests = {
  ...Object.fromEntries(
    Object.entries(INVALID_PAYLOADS).map(([what, { make, path }]) => [
      `no payload holds ${what}`,
      refusesPayload(make, path),
    ]),
  ),

  "an entry must be a plain object with sound fields": async ({ store, thread }) => {
    const bad: readonly (readonly [unknown, string])[] = [
      [null, "entry"],
      ["note", "entry"],
      [{ kind: "" }, "entry.kind"],
      [{ kind: 5 }, "entry.kind"],
      [{ kind: "k".repeat(129) }, "entry.kind"],
      [{ kind: "a\nb" }, "entry.kind"],
      [{ at: "now" }, "entry.at"],
      [{ at: 1.5 }, "entry.at"],
      [{ at: Number.NaN }, "entry.at"],
      [{ v: 0 }, "entry.v"],
      [{ v: 1.5 }, "entry.v"],
    ];
    for (const [entry, path] of bad)
      await rejects(
        appendPayload(store, thread, entry),
        { code: "invalid_entry", path },
        `append of ${JSON.stringify(entry)}`,
      );
    equal(await store.load(thread), undefined, "thread");
  },

  "refs are scalars": async ({ store, thread }) => {
    for (const ref of [{}, [], Number.NaN, new Date(0), () => 1, 1n, "\ud800"])
      await rejects(
        appendPayload(store, thread, { refs: { ref } }),
        { code: "invalid_refs", path: "entry.refs.ref" },
        "append",
      );
    for (const refs of [null, "r", [1], new Map()])
      await rejects(appendPayload(store, thread, { refs }), { code: "invalid_refs", path: "entry.refs" }, "append");
    equal(await store.load(thread), undefined, "thread");
  },

  "metadata is held to the same rules": async ({ store, thread }) => {
    const metadata = { in: "half \ud83e" };
    await rejects(store.append(thread, note(), { metadata }), { code: "not_json", path: "metadata.in" }, "append");
    await store.append(thread, note());
    const forking = store.fork(thread, { atSeq: 0, newId: `${thread}_fork`, metadata });
    await rejects(forking, { code: "not_json", path: "metadata.in" }, "fork");
    equal(await store.load(`${thread}_fork`), undefined, "fork");
  },

  "checkpoints and blobs are held to the same rules": async ({ store, fresh }) => {
    for (const [what, { make, path }] of Object.entries(INVALID_PAYLOADS)) {
      if (path === "entry.payload" && what !== "a lone surrogate in a key") continue; // skipped: these values are valid JSON, but not objects
      const checkpoint = make() as string; // invalid on purpose, as a caller in plain JavaScript may pass it
      await rejects(store.putCheckpoint(fresh("c"), checkpoint), { code: "not_json" }, `checkpoint of ${what}`);
      if (what === "bytes") continue;
      await rejects(store.putBlob({ in: make() as string }), { code: "not_json" }, `blob of ${what}`); // invalid on purpose: the driver must refuse it
    }
    equal(await store.getCheckpoint(fresh("c")), undefined, "checkpoint");
  },
};

function refusesPayload(make: () => unknown, path: string | undefined) {
  return async ({ store, thread }: CaseFixture) => {
    const facts = { code: "not_json", ...(path !== undefined && { path }) };
    const error = await rejects(appendPayload(store, thread, { payload: make() }), facts, "append");
    ok(error.message.includes("entry.payload"), "the message says where");
    equal(await store.load(thread), undefined, "thread");
  };
}

async function appendPayload(store: CaseFixture["store"], thread: string, entry: unknown): Promise<unknown> {
  return store.append(thread, entry as object); // invalid on purpose
}

function cycle(): unknown {
  const item: { self?: unknown } = {};
  item.self = item;
  return { items: [item] };
}

function throwing(): unknown {
  const inner = {};
  Object.defineProperty(inner, "secret", {
    enumerable: true,
    get() {
      throw new TypeError("no");
    },
  });
  return { in: inner };
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function nest(levels: number): unknown {
  let value: unknown = {};
  for (let level = 0; level < levels; level++) value = { in: value };
  return value;
}
