import { type Message, Thread } from "heddle";
import { PROJECTORS } from "heddle/core";
import { describe, expect, test } from "vitest";
import { createProjector, project } from "../../src/projection/projector.ts";

const thinking = [{ type: "thinking", text: "Hm.", metadata: { anthropic: { signature: "c2ln" } } }];
const metadata = {
  openai: { itemId: "fc_1" },
  azure: { itemId: "fc_1" },
  google: { thoughtSignature: "Z2V0" },
};
const call = { id: "c1", name: "write", arguments: { path: "a.txt" }, metadata };
const edited = { path: "b.txt" };

function threadWith(result: object | undefined): Thread {
  const thread = Thread.create().append([
    { kind: "ai_message", payload: { role: "user", content: "Write." } },
    {
      kind: "ai_message",
      payload: {
        role: "assistant",
        content: thinking,
        toolCalls: [call],
        call: { model: "anthropic:claude-opus-4-5" },
      },
    },
  ]);
  const payload = { role: "tool", toolCallId: "c1", name: "write", content: "ok", ...result };
  return result === undefined ? thread : thread.append({ kind: "ai_message", payload });
}

const callIn = (messages: readonly Message[]) =>
  messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []))[0];

describe.each(PROJECTORS)("a call whose arguments an approval has edited, by %s", (rules) => {
  const shown = (thread: Thread) =>
    project({ thread, rules, policy: { thinking: "keep" }, model: "anthropic:claude-opus-4-5" }).messages;

  test("is shown as it ran, with its result, and refers to no stored answer", () => {
    const messages = shown(threadWith({ editedArguments: edited }));
    const kept = { google: metadata.google };
    expect(callIn(messages)).toEqual({ id: "c1", name: "write", arguments: edited, metadata: kept });
    expect(messages.at(-1)).toEqual({ role: "tool", toolCallId: "c1", name: "write", content: "ok" });
  });

  test("changes nothing else: thinking has its signature, and the messages are the same otherwise", () => {
    const plain = shown(threadWith({}));
    const other = shown(threadWith({ editedArguments: edited }));
    const without = (messages: readonly Message[]) =>
      messages.map((message) => (message.role === "assistant" ? { ...message, toolCalls: [] } : message));
    expect(without(other)).toEqual(without(plain));
    expect(JSON.stringify(other)).toContain("c2ln");
  });

  test("is shown so by a projector that has shown it before it was edited", () => {
    const projector = createProjector();
    const waits = threadWith(undefined);
    expect(callIn(projector.project({ thread: waits, rules }).messages)?.arguments).toEqual(call.arguments);
    const payload = { role: "tool", toolCallId: "c1", name: "write", content: "ok", editedArguments: edited };
    const ran = waits.append({ kind: "ai_message", payload });
    expect(callIn(projector.project({ thread: ran, rules }).messages)?.arguments).toEqual(edited);
  });
});

test("is exported as it ran, and stays as it was written in the log", () => {
  const thread = threadWith({ editedArguments: edited });
  expect(JSON.stringify(thread.toMessages({ format: "neutral" }))).toContain("b.txt");
  expect(JSON.stringify(thread.toMessages({ format: "neutral" }))).not.toContain("a.txt");
  expect(JSON.stringify(thread.toArray()[1])).toContain("a.txt");
});
