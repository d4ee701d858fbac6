import { note } from "../builders.ts";
import { equal, ok, rejects } from "../check.ts";
import type { Stories, World } from "../world.ts";

const PAYLOADS: Readonly<Record<string, { readonly make: () => unknown; readonly path?: string }>> = {
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

/** Invalid payloads give a typed error with the path, before any write. */
export const payloads: Stories = {
  ...Object.fromEntries(
    Object.entries(PAYLOADS).map(([what, { make, path }]) => [`no payload holds ${what}`, refusesPayload(make, path)]),
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
        append(store, thread, entry),
        { code: "invalid_entry", path },
        `append of ${JSON.stringify(entry)}`,
      );
    equal(await store.load(thread), undefined, "thread");
  },

  "refs are scalars": async ({ store, thread }) => {
    for (const ref of [{}, [], Number.NaN, new Date(0), () => 1, 1n, "\ud800"])
      await rejects(
        append(store, thread, { refs: { ref } }),
        { code: "invalid_refs", path: "entry.refs.ref" },
        "append",
      );
    for (const refs of [null, "r", [1], new Map()])
      await rejects(append(store, thread, { refs }), { code: "invalid_refs", path: "entry.refs" }, "append");
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
    for (const [what, { make, path }] of Object.entries(PAYLOADS)) {
      if (path === "entry.payload" && what !== "a lone surrogate in a key") continue; // these are JSON, only no objects
      const checkpoint = make() as string; // not so, but no caller's type is to be trusted
      await rejects(store.putCheckpoint(fresh("c"), checkpoint), { code: "not_json" }, `checkpoint of ${what}`);
      if (what === "bytes") continue;
      await rejects(store.putBlob({ in: make() as string }), { code: "not_json" }, `blob of ${what}`); // as above
    }
    equal(await store.getCheckpoint(fresh("c")), undefined, "checkpoint");
  },
};

function refusesPayload(make: () => unknown, path: string | undefined) {
  return async ({ store, thread }: World) => {
    const facts = { code: "not_json", ...(path !== undefined && { path }) };
    const error = await rejects(append(store, thread, { payload: make() }), facts, "append");
    ok(error.message.includes("entry.payload"), "the message says where");
    equal(await store.load(thread), undefined, "thread");
  };
}

async function append(store: World["store"], thread: string, entry: unknown): Promise<unknown> {
  return store.append(thread, entry as object); // what is passed in is wrong on purpose
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
