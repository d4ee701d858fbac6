import type { Message } from "heddle";
import { describe, expect, test } from "vitest";
import { callModel } from "../../../src/runtime/model/call.ts";
import { callOf, fake, finish, says, text, type Version } from "./support/fakes.ts";

const png = { mediaType: "image/png", data: { base64: "AQID" } } as const;
const web = { mediaType: "text/csv", filename: "a.csv", data: { url: "https://example.com/a.csv" } } as const;
const hint = { test: { keep: true } };

const messages: readonly Message[] = [
  { role: "system", content: "Be brief." },
  {
    role: "user",
    content: [
      { type: "text", text: "Look" },
      { type: "file", ...png },
      { type: "file", ...web },
    ],
  },
  {
    role: "assistant",
    content: [
      { type: "custom", kind: "test.note", metadata: hint },
      { type: "file", ...png, metadata: { heddle: { reasoningOf: "test:m-1" }, ...hint } },
      { type: "text", text: "So:" },
    ],
    toolCalls: [{ id: "c", name: "f", arguments: {} }],
  },
  {
    role: "tool",
    toolCallId: "c",
    name: "f",
    content: [
      { type: "text", text: "here" },
      { type: "file", ...png },
      { type: "file", ...web },
    ],
  },
];

async function promptOf(version: Version) {
  const model = says([...text("0", "Hi"), finish], { version, provider: "test.responses" });
  await callModel(callOf(model, { messages }));
  return JSON.parse(JSON.stringify(model.calls[0]?.prompt)) as readonly { readonly content: unknown }[];
}

describe("a prompt", () => {
  const url = "https://example.com/a.csv";
  const call = { type: "tool-call", toolCallId: "c", toolName: "f", input: {} };
  const result = (...value: readonly object[]) => [
    {
      type: "tool-result",
      toolCallId: "c",
      toolName: "f",
      output: { type: "content", value: [{ type: "text", text: "here" }, ...value] },
    },
  ];

  test("of V4 tags its files, and has a place for thinking in pictures", async () => {
    const bytes = { mediaType: "image/png", data: { type: "data", data: "AQID" } };
    const link = { mediaType: "text/csv", filename: "a.csv", data: { type: "url", url } };
    expect((await promptOf("v4")).map(({ content }) => content)).toEqual([
      "Be brief.",
      [
        { type: "text", text: "Look" },
        { type: "file", ...bytes },
        { type: "file", ...link },
      ],
      [
        { type: "custom", kind: "test.note", providerOptions: hint },
        { type: "reasoning-file", ...bytes, providerOptions: hint },
        { type: "text", text: "So:" },
        call,
      ],
      result({ type: "file", ...bytes }, { type: "file", ...link }),
    ]);
  });

  const older = [
    "Be brief.",
    [
      { type: "text", text: "Look" },
      { type: "file", mediaType: "image/png", data: "AQID" },
      { type: "file", mediaType: "text/csv", filename: "a.csv", data: url },
    ],
    [{ type: "text", text: "So:" }, call],
  ];

  test("of V3 has bare files, and names those of results by what they are", async () => {
    expect((await promptOf("v3")).map(({ content }) => content)).toEqual([
      ...older,
      result({ type: "image-data", data: "AQID", mediaType: "image/png" }, { type: "file-url", url }),
    ]);
  });

  test("of V2 has bytes in results, and a note where there is only an address", async () => {
    expect((await promptOf("v2")).map(({ content }) => content)).toEqual([
      ...older,
      result(
        { type: "media", data: "AQID", mediaType: "image/png" },
        { type: "text", text: "[A file (a.csv, text/csv) that cannot be shown here]" },
      ),
    ]);
  });

  test("shows a picture of thinking only to the model that drew it", async () => {
    const model = says([finish], { modelId: "m-2" });
    await callModel(callOf(model, { messages }));
    expect(JSON.stringify(model.calls[0]?.prompt)).not.toMatch(/reasoning-file|heddle/);
  });

  test("has no message that is left without content", async () => {
    const answer: Message = { role: "assistant", content: [{ type: "thinking", text: "Hm" }] };
    const model = says([finish], { provider: "anthropic.messages" });
    await callModel(
      callOf(model, { messages: [{ role: "user", content: "A" }, answer, { role: "user", content: "B" }] }),
    );
    expect(model.calls[0]?.prompt.map(({ role }) => role)).toEqual(["user", "user"]);
  });

  test("is the package's own: what it writes into it changes nothing of ours", async () => {
    const tools = [{ name: "f", inputSchema: { type: "object", properties: {} } }];
    const settings = { providerOptions: { test: { list: [1] } }, stopSequences: ["x"], headers: { a: "b" } };
    const before = structuredClone({ messages, tools, settings });
    const model = fake((_, options) => {
      scribble(options);
      return [finish];
    });
    await callModel(callOf(model, { messages, tools, settings }));
    expect({ messages, tools, settings }).toEqual(before);
  });
});

/** Writes into everything that can be reached. */
function scribble(value: unknown): void {
  if (typeof value !== "object" || value === null || value instanceof AbortSignal || value instanceof URL) return;
  for (const inside of Object.values(value)) scribble(inside);
  Object.assign(value, { scribbled: true });
}

describe("the end of an answer", () => {
  const flat = { inputTokens: 10, outputTokens: 5, totalTokens: 15, reasoningTokens: 2, cachedInputTokens: 4 };
  const grouped = { inputTokens: { noCache: 6, cacheRead: 4 }, outputTokens: { total: 5, reasoning: 2 } };
  const usage = { inputTokens: 10, outputTokens: 5, reasoningTokens: 2, cacheReadTokens: 4 };

  test.each<readonly [Version, unknown, unknown, object]>([
    ["v4", grouped, { unified: "length", raw: "max_tokens" }, { usage, finishReason: "length" }],
    ["v3", grouped, { unified: "tool-calls", raw: "x" }, { usage, finishReason: "tool-calls" }],
    ["v2", flat, "stop", { usage, finishReason: "stop" }],
    ["v2", flat, "unknown", { usage, finishReason: "other" }],
    [
      "v4",
      { inputTokens: { total: undefined }, outputTokens: { total: Number.NaN } },
      undefined,
      { usage: {}, finishReason: "other" },
    ],
    ["v4", undefined, { unified: "new-word" }, { usage: {}, finishReason: "other" }],
  ])("of %s with %j and %j is read", async (version, usage, finishReason, expected) => {
    const parts = [...text("0", "Hi"), { type: "finish", usage, finishReason }];
    for (const streaming of [true, false]) {
      const said = streaming ? parts : [{ type: "text", text: "Hi" }, parts.at(-1)];
      expect(await callModel(callOf(says(said, { version }), { streaming }))).toMatchObject({
        content: "Hi",
        ...expected,
      });
    }
  });
});

test("files of an answer are read in the form of each version", async () => {
  const bytes = new Uint8Array(50_000).fill(255);
  const base64 = btoa(String.fromCharCode(...bytes));
  const given: readonly (readonly [Version, unknown, object])[] = [
    ["v4", { type: "data", data: bytes }, { base64 }],
    ["v4", { type: "data", data: "AQID" }, { base64: "AQID" }],
    ["v4", { type: "url", url: new URL("https://example.com/a") }, { url: "https://example.com/a" }],
    ["v3", bytes, { base64 }],
    ["v2", "AQID", { base64: "AQID" }],
  ];
  for (const [version, data, expected] of given) {
    const { content } = await callModel(
      callOf(says([{ type: "file", mediaType: "image/png", data }, finish], { version })),
    );
    expect(content).toEqual([{ type: "file", mediaType: "image/png", data: expected }]);
  }
});

describe("settings", () => {
  const sent = async (options: object, more: Parameters<typeof says>[1] = {}) => {
    const model = says([...text("0", "Hi"), finish], more);
    await callModel(callOf(model, options));
    const { prompt: _prompt, abortSignal: _signal, ...rest } = only(model.calls);
    return rest;
  };

  test("are passed as the specification has them, and only those that were set", async () => {
    const tools = [{ name: "f", description: "F", inputSchema: { type: "object" } }];
    const settings = {
      maxOutputTokens: 100,
      temperature: 0,
      seed: 7,
      stopSequences: ["END"],
      toolChoice: { type: "tool", toolName: "f" },
      responseFormat: { type: "json", schema: { type: "object" }, name: "out" },
      reasoning: "low",
      headers: { "x-a": "b" },
      providerOptions: { test: { a: 1 } },
    };
    const tool = { type: "function", ...tools[0] };
    expect(await sent({ settings, tools })).toEqual({ ...settings, tools: [tool] });
    expect(await sent({ settings: { toolChoice: "required" }, tools })).toEqual({
      toolChoice: { type: "required" },
      tools: [tool],
    });
    expect(await sent({ settings: { toolChoice: "required" } })).toEqual({});
    expect(await sent({ settings: { reasoning: "low" } }, { version: "v3" })).toEqual({});
  });

  test.each(["v2", "v3"] as const)("of %s have no place for reasoning, and a warning says so", async (version) => {
    const warned = async (reasoning: "low" | "none" | "provider-default"): Promise<readonly string[]> => {
      const warnings: string[] = [];
      await sent({ settings: { reasoning }, onWarning: (warning: string) => void warnings.push(warning) }, { version });
      return warnings;
    };
    expect(await warned("low")).toEqual([expect.stringContaining('reasoning: "low" is not sent')]);
    expect(await warned("none")).toEqual([]);
    expect(await warned("provider-default")).toEqual([]);
  });

  test("keep OpenAI from storing answers, unless they say otherwise", async () => {
    const of = async (provider: string, providerOptions?: object) =>
      (await sent({ settings: { ...(providerOptions && { providerOptions }) } }, { provider })).providerOptions;
    expect(await of("openai.responses")).toEqual({ openai: { store: false } });
    expect(await of("openai.responses", { openai: { store: true, user: "u" } })).toEqual({
      openai: { store: true, user: "u" },
    });
    expect(await of("azure.responses")).toEqual({ azure: { store: false } });
    expect(await of("azure.responses", { openai: { user: "u" } })).toEqual({ openai: { store: false, user: "u" } });
    expect(await of("openai.chat")).toBeUndefined();
    expect(await of("xai.responses")).toBeUndefined();
  });

  test("mark the cache for Claude alone", async () => {
    const marks = async (provider: string, modelId: string) => {
      const model = says([finish], { provider, modelId });
      await callModel(callOf(model, { cache: true }));
      return JSON.stringify(model.calls[0]?.prompt).includes("cacheControl");
    };
    expect([
      await marks("anthropic.messages", "claude-sonnet-4-5"),
      await marks("openrouter.chat", "anthropic/claude-sonnet-4.5"),
      await marks("openai.responses", "gpt-5"),
    ]).toEqual([true, true, false]);
  });
});

function only<T>([item]: readonly T[]): T {
  if (item === undefined) throw new Error("there was no call");
  return item;
}
