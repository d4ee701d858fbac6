import { HeddleError, StoreError, Thread, ThreadError } from "heddle";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { errorOf, notes } from "./builders.ts";

describe("an error", () => {
  const error = new ThreadError({ code: "x_y", message: "Do this.", path: "a.b", cause: "why" });

  test("says its class, code, message, cause and facts", () => {
    expect(error).toMatchObject({ name: "ThreadError", code: "x_y", message: "Do this.", path: "a.b", cause: "why" });
    expect(error.retryable).toBe(false);
    expect(String(error)).toBe("ThreadError: Do this.");
    expect(error).toBeInstanceOf(Error);
    expect(new HeddleError({ code: "x", message: "m", retryable: true }).retryable).toBe(true);
    expect("cause" in new HeddleError({ code: "x", message: "m" })).toBe(false);
  });

  test("is an instance of its class and those above, of no other", () => {
    expect([HeddleError, ThreadError, StoreError].map((type) => type.isInstance(error))).toEqual([true, true, false]);
    expect(ThreadError.isInstance(new HeddleError({ code: "x", message: "m" }))).toBe(false);
  });

  test("keeps the mark of its class to itself: printing and copying do not show it", () => {
    expect(Object.keys(error)).not.toContain("name");
    expect(Object.getOwnPropertySymbols({ ...error })).toEqual([]);
  });

  test("is nothing that is not one", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const value of [undefined, null, "x", 5, {}, [], new Error("x"), { code: "x", name: "ThreadError" }, proxy]) {
      expect(HeddleError.isInstance(value)).toBe(false);
    }
  });
});

describe("two copies of the package", () => {
  let other: typeof import("../../src/index.ts");
  beforeAll(async () => {
    vi.resetModules();
    other = await import("../../src/index.ts");
  });

  test("know each other's errors", () => {
    const theirs = new other.ThreadError({ code: "x", message: "m" });
    expect(theirs).not.toBeInstanceOf(ThreadError);
    expect([HeddleError.isInstance(theirs), ThreadError.isInstance(theirs)]).toEqual([true, true]);
    expect(StoreError.isInstance(theirs)).toBe(false);
    expect(other.HeddleError.isInstance(errorOf(() => notes(1).at(0.5)))).toBe(true);
  });

  test("know each other's threads and entries", () => {
    const theirs = other.Thread.create().append(notes(2).toArray());
    expect(Thread.fromJSON(theirs.toJSON()).toArray()).toEqual(notes(2).toArray());
  });
});

describe("messages", () => {
  const secret = "hunter2";
  class Secret {}
  Object.defineProperty(Secret, "name", { value: "Safe" });

  test.each<[string, () => unknown]>([
    ["a value that is no JSON", () => notes(0).append({ payload: { a: [secret, () => secret] as never } })],
    ["text with a lone surrogate", () => notes(0).append({ payload: { a: `${secret}\ud800` } })],
    ["a ref that is an object", () => notes(0).append({ refs: { a: { [secret]: secret } as never } })],
    [
      "an object that calls itself so",
      () => notes(0).append({ refs: { a: { constructor: { name: secret } } as never } }),
    ],
    ["a class instance", () => notes(0).append({ payload: { a: Object.assign(new Secret(), { secret }) } as never })],
    ["an entry that is text", () => notes(0).append(secret as never)],
    ["other content for an id", () => notes(0).append([{ id: "a", payload: { secret } }, { id: "a" }])],
    ["an id that is an object", () => notes(0).append({ id: { constructor: { name: secret } } as never })],
    ["a bad kind", () => notes(0).append({ kind: `${secret}\n` })],
    ["a bad thread id", () => Thread.create({ id: `${secret}/` })],
    ["damaged data", () => Thread.fromJSON({ ...notes(1).toJSON(), rev: secret, format: "heddle.thread/1" })],
    ["other data", () => Thread.fromJSON({ format: secret })],
  ])("hold no values: %s", (_, call) => {
    const error = errorOf(call);
    expect(error.message).not.toContain(secret);
    expect(JSON.stringify(error)).not.toContain(secret);
  });
});
