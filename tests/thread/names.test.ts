import { Thread } from "heddle";
import { describe, expect, test } from "vitest";
import { errorOf } from "./builders.ts";

describe("the id of a thread or an entry", () => {
  test.each(["a", "thread_1", "Ünïcode-😀", "a b", "...", "a.b:c@d", "__proto__", "x".repeat(256)])(
    "may be %j",
    (id) => {
      expect(Thread.create({ id }).append({ id }).last()?.id).toBe(id);
    },
  );

  test.each([
    ["", "is empty"],
    ["x".repeat(257), "has 257 characters; at most 256 are allowed"],
    [".", 'may not be "."'],
    ["..", 'may not be ".."'],
    ["a/b", "slash"],
    ["a\\b", "slash"],
    ["a\u0000b", "control characters"],
    ["a\u0085b", "control characters"],
    [" a", "white space"],
    ["a\u00a0", "white space"],
    ["a\ud800b", "lone surrogate"],
  ])("may not be %j", (id, trouble) => {
    expect(errorOf(() => Thread.create({ id }))).toMatchObject({
      code: "invalid_id",
      path: "thread id",
      message: expect.stringContaining(trouble),
    });
    expect(errorOf(() => Thread.create().append({ id }))).toMatchObject({ code: "invalid_id", path: "entry.id" });
  });
});

describe("the id of an entry that answers a command", () => {
  test.each(["c1/0", "c1/12", "x.y/999999", `${"x".repeat(256)}/0`])("may be %j", (id) => {
    expect(Thread.create().append({ id }).last()?.id).toBe(id);
    expect(errorOf(() => Thread.create({ id }))).toMatchObject({ code: "invalid_id" });
  });

  test.each(["/0", "c1/", "c1/x", "c1/01", "c1/-1", "c1/1000000", "a/b/0", "c1\\0", " /0"])("may not be %j", (id) => {
    expect(errorOf(() => Thread.create().append({ id }))).toMatchObject({ code: "invalid_id", path: "entry.id" });
  });
});
