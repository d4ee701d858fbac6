import { type JsonObject, Thread } from "heddle";
import { describe, expect, test } from "vitest";
import { errorOf, notes } from "./builders.ts";

const kept = (payload: unknown): unknown =>
  notes(0)
    .append({ payload: payload as JsonObject })
    .last()?.payload;

function nested(levels: number): unknown {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { a: value };
  return value;
}

function revoked(target: object): unknown {
  const { proxy, revoke } = Proxy.revocable(target, {});
  revoke();
  return proxy;
}

const cycle: { self?: unknown } = {};
cycle.self = { deeper: [cycle] };
const sparse = [1, 2, 3];
delete sparse[1];
class Point {
  readonly x = 1;
}

describe("a payload keeps", () => {
  test.each<[string, unknown, string]>([
    [
      "every kind of JSON",
      { a: [1, -2.5, 1e300, "", "é😀\u0000", true, false, null, {}, []] },
      '{"a":[1,-2.5,1e+300,"","é😀\\u0000",true,false,null,{},[]]}',
    ],
    ["the order of keys", { z: 1, a: 2, m: { y: 1, b: 2 } }, '{"z":1,"a":2,"m":{"y":1,"b":2}}'],
    [
      "names of JavaScript's own",
      { constructor: 1, hasOwnProperty: 2, toJSON: "x", prototype: null },
      '{"constructor":1,"hasOwnProperty":2,"toJSON":"x","prototype":null}',
    ],
    ["no undefined properties", { a: undefined, b: { c: undefined } }, '{"b":{}}'],
    ["objects without a prototype", Object.assign(Object.create(null), { a: 1 }), '{"a":1}'],
    ["the same object twice, which is no cycle", { a: sparse.slice(0, 1), b: [[1], [1]] }, '{"a":[1],"b":[[1],[1]]}'],
  ])("%s", (_, payload, text) => {
    expect(JSON.stringify(kept(payload))).toBe(text);
  });

  test("zero without its sign, as JSON text would", () => {
    const entry = notes(0)
      .append({ payload: { a: -0 }, refs: { n: -0 } })
      .last();
    expect(entry?.payload["a"]).toBe(0);
    expect(entry?.refs["n"]).toBe(0);
  });

  test("an object that occurs in two places", () => {
    const shared = { n: 1 };
    expect(kept({ a: shared, b: [shared] })).toEqual({ a: { n: 1 }, b: [{ n: 1 }] });
  });

  test("five hundred levels, and no more", () => {
    expect(kept({ a: nested(499) })).toEqual({ a: nested(499) });
    for (const levels of [500, 100_000]) {
      const error = errorOf(() => kept({ a: nested(levels) }));
      expect(error).toMatchObject({ code: "not_json" });
      expect(error.message).toContain("nested deeper than 500 levels");
    }
  });

  test("what a getter gives, read once", () => {
    let read = 0;
    expect(
      kept({
        get a() {
          return ++read;
        },
      }),
    ).toEqual({ a: 1 });
  });
});

test("a key __proto__ stays an own key and changes no prototype", () => {
  const odd = JSON.parse('{"__proto__":{"admin":true},"in":[{"__proto__":null}]}');
  const [entry] = Thread.create().append({ kind: "note", payload: odd }).toArray();
  expect(JSON.stringify(entry?.payload)).toBe(JSON.stringify(odd));
  expect(Object.getPrototypeOf(entry?.payload)).toBe(Object.prototype);
  expect(entry?.payload["admin"]).toBeUndefined();
});

describe("a payload refuses, with the path,", () => {
  test.each<[string, unknown, string, string]>([
    ["a function", () => 1, "payload.at[0].it", "a function"],
    ["a symbol", Symbol("s"), "payload.at[0].it", "a symbol"],
    ["a bigint", 1n, "payload.at[0].it", "a bigint"],
    ["NaN", Number.NaN, "payload.at[0].it", "NaN"],
    ["infinity", Number.NEGATIVE_INFINITY, "payload.at[0].it", "-Infinity"],
    ["undefined in a list", [1, undefined], "payload.at[0].it[1]", "undefined"],
    ["a hole in a list", sparse, "payload.at[0].it[1]", "undefined"],
    ["an endless hole", new Array(2 ** 32 - 1), "payload.at[0].it[0]", "undefined"],
    ["a lone surrogate", "a\udc00", "payload.at[0].it", "lone surrogate"],
    ["a lone surrogate in a key", { "\ud800": 1 }, "payload.at[0].it", "lone surrogate"],
    ["a symbol key", { [Symbol("k")]: 1 }, "payload.at[0].it", "symbol key"],
    ["a date", new Date(0), "payload.at[0].it", "an instance of Date"],
    ["a map", new Map(), "payload.at[0].it", "an instance of Map"],
    ["bytes", new Uint8Array(2), "payload.at[0].it", "an instance of Uint8Array; pass base64 text"],
    ["a boxed text", Object("x"), "payload.at[0].it", "an instance of String"],
    ["an error", new TypeError("x"), "payload.at[0].it", "an instance of TypeError"],
    ["a promise", Promise.resolve(1), "payload.at[0].it", "an instance of Promise"],
    ["a class instance", new Point(), "payload.at[0].it", "an instance of Point"],
    ["a thread", Thread.create(), "payload.at[0].it", "an instance of Thread"],
    ["a cycle", cycle, "payload.at[0].it.self.deeper[0]", "refers back"],
    ["a revoked proxy", revoked({}), "payload.at[0].it", "could not be read"],
    ["a revoked list", revoked([]), "payload.at[0].it", "could not be read"],
    ["a function with toJSON", { toJSON: () => 1 }, "payload.at[0].it.toJSON", "a function"],
  ])("%s", (_, it, path, trouble) => {
    const thread = notes(1);
    const before = JSON.stringify(thread);
    const error = errorOf(() => thread.append({ payload: { at: [{ it }] } as never }));
    expect(error).toMatchObject({ name: "ThreadError", code: "not_json", path: `entry.${path}` });
    expect(error.message).toContain(trouble);
    expect(error.message.startsWith(`entry.${path} `)).toBe(true);
    expect(JSON.stringify(thread)).toBe(before);
  });

  test("a getter that throws, with its error as the cause", () => {
    const cause = new Error("no");
    const payload = {
      ok: 1,
      get bad() {
        throw cause;
      },
    };
    expect(errorOf(() => kept(payload))).toMatchObject({ code: "not_json", path: "entry.payload.bad", cause });
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["text", "x"],
    ["a number", 5],
    ["a list", []],
    ["a date", new Date()],
    ["a function", () => 1],
  ])("to be %s", (_, payload) => {
    expect(errorOf(() => kept(payload))).toMatchObject({ code: "not_json", path: "entry.payload" });
  });

  test("the same in metadata", () => {
    const metadata = { a: [new Date()] } as never;
    expect(errorOf(() => Thread.create({ metadata }))).toMatchObject({ code: "not_json", path: "metadata.a[0]" });
  });
});
