import type { Message } from "heddle";
import { type Expectation, type ScriptedRequest, scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { generated, mismatchOf } from "./support/asking.ts";

const conversation: readonly Message[] = [
  { role: "system", content: "You add." },
  { role: "user", content: "What's 2+2?" },
  { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "add", arguments: { a: 2, b: 2 } }] },
  { role: "tool", toolCallId: "c1", name: "add", content: "4" },
];
const tools = ["add", "now"].map((name) => ({ type: "function" as const, name, inputSchema: {} }));

async function differences(expect: Expectation): Promise<readonly string[]> {
  const model = scriptedModel([{ expect, text: "ok" }]);
  const outcome = await generated(model, conversation, { tools }).catch((error: unknown) => error);
  return outcome instanceof Error
    ? ((outcome as { differences?: readonly { at: string }[] }).differences ?? []).map(({ at }) => at)
    : [];
}

describe("an expectation holds", () => {
  const holding: Readonly<Record<string, Expectation>> = {
    "for anything when it names nothing": {},
    "of the last user text, exactly": { lastUser: "What's 2+2?" },
    "of the last user text by a pattern, with any flags": { lastUser: /\d\+\d/g },
    "of the system prompt": { system: "You add." },
    "of the tools in any order": { tools: ["now", "add"] },
    "of the whole conversation, looking only at what is named": {
      messages: [
        { role: "user", text: /2/ },
        { calls: [{ name: "add", arguments: { b: 2, a: 2 } }] },
        { results: [{ id: "c1", value: "4" }] },
      ],
    },
    "of how it ends": { endsWith: [{ results: [{ name: "add", value: /^4$/, isError: false }] }] },
    "of what has no calls and no text": { endsWith: [{ role: "tool", calls: [], text: "", files: [] }] },
    "by a predicate": { where: ({ messages }) => messages.length === 3 },
  };
  for (const [name, expectation] of Object.entries(holding)) {
    test(name, async () => expect(await differences(expectation)).toEqual([]));
  }

  test("of exactly what an earlier request was", async () => {
    const first = scriptedModel(["ok"]);
    await generated(first, conversation, { tools });
    const { system, messages, lastUser, tools: names } = first.requests[0] as ScriptedRequest; // it was asked
    expect(await differences({ system, messages, lastUser, tools: names })).toEqual([]);
  });
});

describe("an expectation fails", () => {
  const failing: Readonly<Record<string, readonly [Expectation, readonly string[]]>> = {
    "when only a part of the text is given": [{ lastUser: "2+2" }, ["the last user message"]],
    "when the pattern is nowhere": [{ lastUser: /^2/ }, ["the last user message"]],
    "for another system prompt": [{ system: "" }, ["system"]],
    "when a tool more is offered": [{ tools: ["add"] }, ["tools"]],
    "when a tool is missing": [{ tools: ["add", "now", "fly"] }, ["tools"]],
    "when there are more messages": [{ messages: [{ text: "What's 2+2?" }] }, ["messages[1]", "messages[2]"]],
    "when there are fewer messages": [{ messages: [{}, {}, {}, {}, {}] }, ["messages[3]", "messages[4]"]],
    "when it would begin before the first message": [{ endsWith: [{}, {}, {}, {}] }, ["messages[-1]"]],
    "for other arguments": [{ messages: [{}, { calls: [{ arguments: { a: 2 } }] }, {}] }, ["messages[1]"]],
    "for a call too few": [{ endsWith: [{ calls: [] }, {}] }, ["messages[1]"]],
    "for another result": [{ endsWith: [{ results: [{ value: 4 }] }] }, ["messages[2]"]],
    "when the tool should have failed": [{ endsWith: [{ results: [{ isError: true }] }] }, ["messages[2]"]],
    "for another role": [{ endsWith: [{ role: "user" }] }, ["messages[2]"]],
    "by a predicate": [{ where: () => false }, ["where"]],
    "by several things at once": [{ system: "x", lastUser: "y" }, ["system", "the last user message"]],
  };
  for (const [name, [expectation, places]] of Object.entries(failing)) {
    test(name, async () => expect(await differences(expectation)).toEqual(places));
  }
});

test("text, a pattern or a function alone are short for the last user text and a predicate", async () => {
  const model = scriptedModel([
    { expect: "hi", text: "1" },
    { expect: /^h/, text: "2" },
    { expect: ({ number }) => number === 3, text: "3" },
    { expect: "ho", text: "4" },
  ]);
  for (const text of ["1", "2", "3"]) expect((await generated(model)).content).toEqual([{ type: "text", text }]);
  expect((await mismatchOf(generated(model))).code).toBe("script_mismatch");
});

test("a predicate that throws is a difference that says why", async () => {
  const where = () => {
    throw new Error("no such tool");
  };
  const { message } = await mismatchOf(generated(scriptedModel([{ expect: { where }, text: "" }])));
  expect(message).toContain("it threw Error: no such tool");
});

test("a pattern with the flag g means the same in every step", async () => {
  const pattern = /i/g;
  const model = scriptedModel([
    { expect: pattern, text: "1" },
    { expect: pattern, text: "2" },
  ]);
  await generated(model);
  expect((await generated(model)).content).toEqual([{ type: "text", text: "2" }]);
});
