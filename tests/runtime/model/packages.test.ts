import type { Message } from "heddle";
import { describe, expect, test } from "vitest";
import { callModel } from "../../../src/runtime/model/call.ts";
import { callOf, fake, finish, says, text } from "./support/fakes.ts";

// What single packages do otherwise than the specification would have it.

describe("results with pictures, where a package would write their bytes into the text", () => {
  const image = { type: "file", mediaType: "image/png", data: { base64: "AQID" } } as const;
  const table = { type: "file", mediaType: "text/csv", filename: "a.csv", data: { base64: "AQID" } } as const;
  const result = (toolCallId: string, content: Message["content"], isError = false): Message => ({
    role: "tool",
    toolCallId,
    name: "f",
    content,
    ...(isError && { isError }),
  });
  const calls = ["a", "b", "c"].map((id) => ({ id, name: "f", arguments: {} }));
  const messages: readonly Message[] = [
    { role: "user", content: "Look." },
    { role: "assistant", content: "", toolCalls: calls },
    result("a", [{ type: "text", text: "here" }, image]),
    result("b", "plain"),
    result("c", [{ type: "text", text: "no" }, image], true),
    { role: "user", content: "And this?" },
  ];

  async function promptOf(provider: string, list = messages): Promise<readonly object[]> {
    const model = says([finish], { provider });
    await callModel(callOf(model, { messages: list }));
    return JSON.parse(JSON.stringify(model.calls[0]?.prompt));
  }

  test("are text, and the pictures follow behind all results", async () => {
    expect((await promptOf("local.chat")).slice(2)).toEqual([
      {
        role: "tool",
        content: [
          {
            ...{ type: "tool-result", toolCallId: "a", toolName: "f" },
            output: { type: "text", value: "here\n[image/png: see the message behind the results]" },
          },
          { type: "tool-result", toolCallId: "b", toolName: "f", output: { type: "text", value: "plain" } },
          {
            ...{ type: "tool-result", toolCallId: "c", toolName: "f" },
            output: { type: "error-text", value: "no\n[A file (image/png) that cannot be shown here]" },
          },
        ],
      },
      { role: "user", content: [{ type: "file", mediaType: "image/png", data: { type: "data", data: "AQID" } }] },
      { role: "user", content: [{ type: "text", text: "And this?" }] },
    ]);
  });

  test("have notes for what a chat API does not take from the user either", async () => {
    const list = [...messages.slice(0, 2), result("a", [table]), result("b", [image]), result("c", "ok")];
    expect(JSON.stringify(await promptOf("cohere.chat", list))).not.toContain("AQID");
    const shown = JSON.stringify(await promptOf("local.chat", list));
    expect(shown.match(/AQID/g)).toHaveLength(1);
    expect(shown).toContain("[A file (a.csv, text/csv) that cannot be shown here]");
  });

  test("stay as they are for the others", async () => {
    expect(JSON.stringify((await promptOf("anthropic.messages"))[2])).toContain('"data":"AQID"');
  });
});

describe("the ids of calls", () => {
  const messages: readonly Message[] = [
    { role: "user", content: "Look." },
    {
      role: "assistant",
      content: [
        { type: "text", text: "I look." },
        { type: "tool_call", id: "call_1" },
        { type: "tool_call", id: "Ab3dE6gH9" },
      ],
      toolCalls: [
        { id: "call_1", name: "f", arguments: {} },
        { id: "Ab3dE6gH9", name: "f", arguments: {} },
      ],
    },
    { role: "tool", toolCallId: "call_1", name: "f", content: "1" },
    { role: "tool", toolCallId: "Ab3dE6gH9", name: "f", content: "2" },
    { role: "assistant", content: "", toolCalls: [{ id: "call_2", name: "f", arguments: {} }] },
    { role: "tool", toolCallId: "call_2", name: "f", content: "3" },
  ];

  async function idsFor(model: { readonly provider: string; readonly modelId?: string }): Promise<readonly string[]> {
    const said = says([finish], model);
    await callModel(callOf(said, { messages }));
    return [...JSON.stringify(said.calls[0]?.prompt).matchAll(/"toolCallId":"([^"]*)"/g)].flatMap(([, id]) => id ?? []);
  }

  test.each([{ provider: "mistral.chat" }, { provider: "openrouter.chat", modelId: "mistralai/devstral-medium" }])(
    "have nine letters and digits for Mistral: $provider",
    async (model) => {
      const [first, second, ...others] = await idsFor(model);
      expect(first).toMatch(/^[A-Za-z0-9]{9}$/);
      expect(second).toBe("Ab3dE6gH9");
      expect(others).toEqual([first, second, others[2], others[2]]);
      expect(others[2]).toMatch(/^[A-Za-z0-9]{9}$/);
      expect(others[2]).not.toBe(first);
    },
  );

  test("stay as they are for others", async () => {
    const kept = ["call_1", "Ab3dE6gH9", "call_1", "Ab3dE6gH9", "call_2", "call_2"];
    expect(await idsFor({ provider: "openai.chat" })).toEqual(kept);
  });
});

describe("Claude's stream", () => {
  test("begins with a part that does not belong to the answer", async () => {
    const start = { type: "custom", kind: "anthropic.message_start", providerMetadata: { anthropic: { id: "msg_1" } } };
    const other = { type: "custom", kind: "anthropic.fallback", providerMetadata: { anthropic: { from: {} } } };
    expect((await callModel(callOf(says([start, ...text("0", "Hi"), finish])))).content).toBe("Hi");
    expect((await callModel(callOf(says([other, ...text("0", "Hi"), finish])))).content).toHaveLength(2);
  });
});

describe("thinking with a fixed budget", () => {
  const providerOptions = { anthropic: { thinking: { type: "enabled", budgetTokens: 1024 }, effort: "high" } };
  const call = { id: "c", name: "f", arguments: {} };
  const ask: Message = { role: "user", content: "Look." };
  const blank: Message = { role: "assistant", content: "", toolCalls: [call] };
  const thought = { type: "thinking", text: "Hm", metadata: { anthropic: { signature: "s" } } } as const;
  const thinking: Message = { ...blank, content: [thought] };
  const unsigned: Message = { ...blank, content: [{ type: "thinking", text: "Hm" }] };
  const result: Message = { role: "tool", toolCallId: "c", name: "f", content: "ok" };

  async function thinkingOf(messages: readonly Message[], provider = "anthropic.messages"): Promise<unknown> {
    const model = says([finish], { provider });
    await callModel(callOf(model, { messages, settings: { providerOptions } }));
    expect(model.calls[0]?.providerOptions?.["anthropic"]?.["effort"]).toBe("high");
    return model.calls[0]?.providerOptions?.["anthropic"]?.["thinking"];
  }

  test.each<readonly [string, readonly Message[], string]>([
    ["is there for an ask", [ask], "enabled"],
    ["is there for an ask behind a loop without it", [ask, blank, result, { ...blank, toolCalls: [] }, ask], "enabled"],
    ["is there in a loop that shows it", [ask, thinking, result], "enabled"],
    ["is there in a loop whose last answer has it", [ask, blank, result, thinking, result], "enabled"],
    ["is off in a loop whose last answer has none", [ask, thinking, result, blank, result], "disabled"],
    ["is off in a loop that has lost it", [ask, blank, result], "disabled"],
    ["is off where only an earlier loop has it", [ask, thinking, result, thinking, ask, blank, result], "disabled"],
    ["is off where nobody can read it", [ask, unsigned, result], "disabled"],
    ["is there where it was shown before a steer", [ask, thinking, result, ask], "enabled"],
    ["is off before a steer too", [ask, blank, result, ask], "disabled"],
  ])("%s", async (_, messages, type) => {
    expect(await thinkingOf(messages)).toMatchObject({ type });
  });

  test("is changed only for Anthropic", async () => {
    expect(await thinkingOf([ask, blank, result], "openrouter.chat")).toMatchObject({ type: "enabled" });
  });
});

test("an answer of the shape asked for is the text where there is no other", async () => {
  const answering = (...content: readonly object[]) => {
    const model = says([...content, finish]);
    const doGenerate: typeof model.doGenerate = async (options) =>
      ({ ...(await model.doGenerate(options)), structuredOutputText: '{"a":1}' }) as never; // what V4 has besides
    return callModel(callOf({ ...model, doGenerate }, { streaming: false }));
  };
  expect((await answering()).content).toBe('{"a":1}');
  expect((await answering({ type: "text", text: "No." })).content).toBe("No.");
});

describe("warnings of a package", () => {
  const warnings = [
    { type: "unsupported", feature: "temperature", details: "it thinks" },
    { type: "unsupported-setting", setting: "seed" },
    { type: "unsupported-tool", tool: { type: "function", name: "f" } },
    { type: "other", message: "Mind the gap." },
    { type: "deprecated", setting: "x", message: "use y" },
    null,
  ];
  const lines = [
    "unsupported temperature: it thinks",
    "unsupported-setting seed",
    "unsupported-tool f",
    "Mind the gap.",
    "deprecated x: use y",
    "a warning without text",
  ];

  test.each([true, false])("are reported, streaming: %s", async (streaming) => {
    const told: string[] = [];
    const model = fake(() => [{ type: "stream-start", warnings }, finish]);
    const doGenerate: typeof model.doGenerate = async (options) =>
      ({ ...(await model.doGenerate(options)), warnings }) as never; // the spec's results have them
    await callModel(callOf({ ...model, doGenerate }, { streaming, onWarning: (warning) => void told.push(warning) }));
    expect(told).toEqual(lines.map((line) => `warning of the model package: ${line}`));
  });

  test("end the call where their handler throws", async () => {
    const model = says([{ type: "stream-start", warnings }, finish]);
    const call = callOf(model, {
      onWarning: () => {
        throw new RangeError("no warnings here");
      },
    });
    await expect(callModel(call)).rejects.toThrow(RangeError);
  });
});

describe("files that a known provider refuses for their type, which packages would send or throw for", () => {
  const file = (mediaType: string) => ({ type: "file", mediaType, data: { base64: "AQID" } }) as const;
  const types = ["image/heic", "image/svg+xml", "text/csv", "application/zip"];

  async function sentBy(provider: string, settings = {}): Promise<readonly string[]> {
    const model = says([finish], { provider });
    const warnings: string[] = [];
    const messages: readonly Message[] = [{ role: "user", content: types.map(file) }];
    const onWarning = (warning: string): void => void warnings.push(warning);
    await callModel({ ...callOf(model, { messages }), settings, onWarning });
    const prompt = JSON.stringify(model.calls[0]?.prompt);
    const isNote = (type: string) =>
      prompt.includes(`(${type}) that cannot be shown here`) || prompt.includes(`[A file, ${type}]`);
    const left = types.filter(isNote);
    expect(warnings.filter((warning) => warning.includes("cannot take these files"))).toEqual(
      left.length === 0 ? [] : [expect.stringContaining(`(${left.join(", ")})`)],
    );
    return types.filter((type) => !isNote(type));
  }

  test.each([
    ["anthropic.messages", []],
    ["openai.responses", []],
    ["openai.chat", []],
    ["google.generative-ai", ["image/heic", "text/csv"]],
    ["google.vertex.chat", ["image/heic", "text/csv"]],
    ["local.chat", types],
  ])("%s is sent only %j, and the caller is warned of the others", async (provider, sent) => {
    expect(await sentBy(provider)).toEqual(sent);
  });

  test.each([
    ["anthropic.messages", 5 * 1024 * 1024, 0],
    ["anthropic.messages", 5 * 1024 * 1024 + 4, 1],
    ["openai.responses", 5 * 1024 * 1024 + 4, 0],
  ])("%s, with %d characters of an image, gets %d notes in one call", async (provider, length, notes) => {
    const model = says([...text("0", "Hi"), finish], { provider });
    const image = { type: "file", mediaType: "image/png", data: { base64: "A".repeat(length) } } as const;
    const messages: readonly Message[] = [{ role: "tool", toolCallId: "c", name: "shot", content: [image] }];
    await callModel(callOf(model, { messages }));
    expect(model.calls).toHaveLength(1);
    expect(JSON.stringify(model.calls[0]?.prompt).split("cannot be shown here")).toHaveLength(notes + 1);
  });

  test("OpenAI is sent all if the call has its package pass them", async () => {
    const providerOptions = { openai: { passThroughUnsupportedFiles: true } };
    expect(await sentBy("openai.responses", { providerOptions })).toEqual(types);
  });
});

describe("a file that the provider refuses", () => {
  const image = (base64: string) => ({ type: "file", mediaType: "image/png", data: { base64 } }) as const;
  const messages: readonly Message[] = [
    { role: "user", content: [image("AAAA")] },
    { role: "assistant", content: "A square." },
    { role: "user", content: [{ type: "text", text: "And this?" }, image("BBBB")] },
  ];
  const refused = { statusCode: 400, message: "messages.2.content.1.image.source.base64: image exceeds 10 MB maximum" };

  async function shown(errors: readonly object[], list = messages) {
    const warnings: string[] = [];
    const model = fake((call) => {
      const error = errors[call - 1];
      if (error !== undefined) throw Object.assign(new Error("refused"), error);
      return [...text("0", "Fine."), finish];
    });
    const onWarning = (warning: string): void => void warnings.push(warning);
    const answer = await callModel({ ...callOf(model, { messages: list }), onWarning }).catch((error) => error);
    const prompts = model.calls.map(({ prompt }) => JSON.stringify(prompt).match(/AAAA|BBBB|cannot be shown/g));
    return { answer: answer.code ?? answer.content, prompts, warnings: warnings.length };
  }

  test("is a note, and first it is that of the newest message", async () => {
    const none = ["cannot be shown", "cannot be shown"];
    expect(await shown([refused])).toEqual({
      answer: "Fine.",
      prompts: [
        ["AAAA", "BBBB"],
        ["AAAA", "cannot be shown"],
      ],
      warnings: 1,
    });
    const twice = await shown([refused, refused]);
    expect([twice.prompts[2], twice.answer]).toEqual([none, "Fine."]);
    const always = await shown([refused, refused, refused]);
    expect([always.prompts.length, always.answer]).toEqual([3, "model_bad_request"]);
  });

  test.each([
    ["another trouble", { statusCode: 400, message: "temperature is not supported" }],
    ["another status", { statusCode: 401, message: "No image for this key" }],
    [
      "too many tokens",
      { statusCode: 400, message: "prompt is too long: 210000 tokens > 200000 maximum, with images" },
    ],
  ])("is not looked for after %s", async (_what, error) => {
    expect((await shown([error])).prompts).toHaveLength(1);
  });

  test("is not looked for where there is none", async () => {
    expect((await shown([refused], [{ role: "user", content: "Hi" }])).answer).toBe("model_bad_request");
  });
});
