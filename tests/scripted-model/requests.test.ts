import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { asked, generated, mismatchOf } from "./support/asking.ts";

test("a request has a short form", async () => {
  const model = scriptedModel(["ok"]);
  const prompt: LanguageModelV4Prompt = [
    { role: "system", content: "Be brief." },
    { role: "system", content: "Be kind." },
    {
      role: "user",
      content: [
        { type: "text", text: "What's" },
        { type: "text", text: "this?" },
        { type: "file", mediaType: "image/png", data: { type: "data", data: new Uint8Array(3) } },
      ],
    },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "tool-call", toolCallId: "c1", toolName: "look", input: { at: 1 } },
        { type: "tool-call", toolCallId: "c2", toolName: "look", input: {} },
      ],
    },
    {
      role: "tool",
      content: [
        { type: "tool-result", toolCallId: "c1", toolName: "look", output: { type: "json", value: { cat: true } } },
        { type: "tool-result", toolCallId: "c2", toolName: "look", output: { type: "error-text", value: "dark" } },
        { type: "tool-result", toolCallId: "c3", toolName: "fly", output: { type: "execution-denied", reason: "no" } },
      ],
    },
    { role: "system", content: "Go on." },
  ];
  await model.doGenerate({ prompt, temperature: 0.5 });
  expect(model.requests).toEqual([
    {
      number: 1,
      streaming: false,
      system: "Be brief.\nBe kind.",
      lastUser: "What's\nthis?",
      tools: [],
      messages: [
        { role: "user", text: "What's\nthis?", files: ["image/png"] },
        {
          role: "assistant",
          thinking: "hm",
          calls: [
            { id: "c1", name: "look", arguments: { at: 1 } },
            { id: "c2", name: "look", arguments: {} },
          ],
        },
        {
          role: "tool",
          results: [
            { id: "c1", name: "look", value: { cat: true } },
            { id: "c2", name: "look", value: "dark", isError: true },
            { id: "c3", name: "fly", value: "no", isError: true },
          ],
        },
        { role: "system", text: "Go on." },
      ],
      options: expect.objectContaining({ temperature: 0.5 }),
    },
  ]);
});

test("all that was passed is kept as plain data, without the abort signal", async () => {
  const model = scriptedModel(["ok"]);
  const data = { type: "url" as const, url: new URL("https://example.org/cat.png") };
  await model.doGenerate({
    prompt: [{ role: "user", content: [{ type: "file", mediaType: "image/png", data }] }],
    tools: [{ type: "function", name: "add", inputSchema: { type: "object" } }],
    toolChoice: { type: "auto" },
    abortSignal: new AbortController().signal,
  });
  expect(model.requests[0]?.options).toEqual({
    prompt: [
      {
        role: "user",
        content: [{ type: "file", mediaType: "image/png", data: { type: "url", url: "https://example.org/cat.png" } }],
      },
    ],
    tools: [{ type: "function", name: "add", inputSchema: { type: "object" } }],
    toolChoice: { type: "auto" },
  });
});

test("nothing that happens later changes a request", async () => {
  const model = scriptedModel(["1", "2"]);
  const options = asked("hi");
  await model.doGenerate(options);
  const { requests } = model;
  const before = JSON.stringify(requests);
  options.prompt.length = 0;
  await generated(model, "ho");
  expect(JSON.stringify(requests)).toBe(before);
  expect(model.requests.map(({ lastUser }) => lastUser)).toEqual(["hi", "ho"]);
});

test("a request is frozen through and through", async () => {
  const model = scriptedModel(["1"]);
  await generated(model, [
    { role: "user", content: "hi" },
    { role: "assistant", content: "", toolCalls: [{ id: "c1", name: "add", arguments: { list: [1] } }] },
    { role: "tool", toolCallId: "c1", name: "add", content: "1" },
  ]);
  expect(loose(model.requests, "requests")).toEqual([]);
});

test("a request that no step answered is kept too", async () => {
  const model = scriptedModel([]);
  await mismatchOf(generated(model, "hi"));
  expect(model.requests).toHaveLength(1);
});

/** The places of all that is not frozen. */
function loose(value: unknown, path: string): readonly string[] {
  if (typeof value !== "object" || value === null) return [];
  const inside = Object.entries(value).flatMap(([key, item]) => loose(item, `${path}.${key}`));
  return Object.isFrozen(value) ? inside : [path, ...inside];
}
