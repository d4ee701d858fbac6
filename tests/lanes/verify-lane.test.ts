import type { JsonValue } from "heddle";
import { type Context, foldLane, verifyLane } from "heddle/core";
import { assistant, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { context, given } from "../projection/given.ts";

const thread = given(
  user("one"),
  context([{ role: "user", content: "anew" }], {}, { systemPrompt: "Be brief." }),
  assistant("two"),
);
const view = foldLane(thread, "default");
const changed = (change: Partial<Context>): Context => ({ ...view, ...change });

describe("a kept view of a lane", () => {
  test("is right as it was folded, also after it went through JSON and when the thread has grown", () => {
    expect(verifyLane(thread, view)).toEqual({ ok: true });
    expect(verifyLane(thread.append(user("more")), JSON.parse(JSON.stringify(view)))).toEqual({ ok: true });
  });

  test("is wrong from the first item that differs", () => {
    const [first, second] = view.items;
    if (first === undefined || second === undefined) expect.fail("it has two items");
    expect(verifyLane(thread, changed({ items: [first] }))).toEqual({ ok: false, item: 1 });
    expect(verifyLane(thread, changed({ items: [first, { ...second, open: 9 }] }))).toEqual({ ok: false, item: 1 });
  });

  test.each<[string, JsonValue]>([
    ["another text", { role: "user", content: "forged" }],
    ["another role", { role: "assistant", content: "anew" }],
    ["nothing", null],
  ])("is wrong where a message of the replaced context became %s", (_, message) => {
    const items = view.items.map((item) =>
      item.snapshot ? { ...item, snapshot: { ...item.snapshot, message } } : item,
    );
    expect(verifyLane(thread, changed({ items }))).toEqual({ ok: false, item: 0 });
  });

  test.each<[string, Partial<Context>]>([
    ["has other messages", { entries: [{ role: "user", content: "forged" }, ...view.entries.slice(1)] }],
    ["lacks a message", { entries: view.entries.slice(1) }],
    ["has another system prompt", { systemPrompt: "Be rude." }],
    ["has another measure", { measure: view.measure + 1 }],
    ["is said to be incomplete", { complete: false }],
  ])("is wrong when it %s", (_, change) => {
    expect(verifyLane(thread, changed(change))).toEqual({ ok: false, item: -1 });
  });
});
