import { project, Thread } from "heddle";
import { type ProviderApi, validateMessages } from "heddle/providers";
import { toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { told } from "../given.ts";

const PROVIDERS: readonly ProviderApi[] = ["openai-chat", "openai-responses", "anthropic", "gemini"];
const INTERRUPTED = '{"error":{"type":"interrupted","message":"The call was interrupted; its outcome is unknown."}}';
const DAY = 24 * 60 * 60_000;

describe("a killed process", () => {
  const died = Thread.create().append([
    user("Book the loom for Monday", { at: 0 }),
    toolCall("c1", "book", { day: "Monday" }, { at: 1 }),
  ]);
  const nextDay = died.append(user("Did it work?", { at: DAY }));

  test("The process died between a call and its result; the user came back the next day: the thread simply continues.", () => {
    const before = JSON.stringify(nextDay);
    const projection = project({ thread: nextDay });
    expect(told(projection)).toEqual([
      "user: Book the loom for Monday",
      "assistant: -> book(c1)",
      `tool c1: ${INTERRUPTED}`,
      "user: Did it work?",
    ]);
    expect(projection.messages[2]).toMatchObject({ isError: true });
    for (const provider of PROVIDERS) expect(validateMessages(projection.messages, provider)).toEqual([]);
    expect(projection.meta.repaired).toEqual({ calls: [1], standIns: 0 });
    expect(projection.meta.open).toBe(true);
    expect(JSON.stringify(nextDay)).toBe(before);
  });

  test("the question may as well be pending", () => {
    const pending = project({ thread: died, pending: "Did it work?" });
    expect(pending.messages).toEqual(project({ thread: nextDay }).messages);
  });

  test("even before anybody comes back the thread is legal", () => {
    const { messages } = project({ thread: died });
    for (const provider of PROVIDERS) expect(validateMessages(messages, provider)).toEqual([]);
  });

  test("a result that arrives after all takes its place, before the question", () => {
    const late = nextDay.append(toolResult("c1", "book", { ok: true, value: "booked" }, { at: DAY + 1 }));
    const projection = project({ thread: late });
    expect(told(projection)).toEqual([
      "user: Book the loom for Monday",
      "assistant: -> book(c1)",
      "tool c1: booked",
      "user: Did it work?",
    ]);
    for (const provider of PROVIDERS) expect(validateMessages(projection.messages, provider)).toEqual([]);
    expect(projection.meta.repaired).toEqual({ calls: [], standIns: 0 });
    expect(projection.meta.dropped).toEqual([]);
  });
});
