import { describe, expect, test, vi } from "vitest";
import type { ModelDelta } from "../../../src/runtime/model/answer.ts";
import { withUniqueIds } from "../../../src/runtime/model/answer.ts";
import { callModel } from "../../../src/runtime/model/call.ts";
import { callOf, finish, says, text } from "./support/fakes.ts";

const thinking = { provider: "test", model: "m-1" };

describe("an answer", () => {
  test("that is one plain text is that text", async () => {
    expect(await callModel(callOf(says([...text("0", "Hel", "lo"), finish])))).toEqual({
      content: "Hello",
      toolCalls: [],
      finishReason: "stop",
      usage: { inputTokens: 10, outputTokens: 5, cacheReadTokens: 2, cacheWriteTokens: 1, reasoningTokens: 2 },
    });
  });

  test("is the same whether it streams or not", async () => {
    const content = [
      { type: "reasoning", text: "Hm", providerMetadata: { anthropic: { signature: "s" } } },
      { type: "text", text: "Look:" },
      { type: "tool-call", toolCallId: "c1", toolName: "f", input: "{}" },
    ];
    const parts = [
      { type: "reasoning-start", id: "0" },
      { type: "reasoning-delta", id: "0", delta: "Hm" },
      { type: "reasoning-delta", id: "0", delta: "", providerMetadata: { anthropic: { signature: "s" } } },
      { type: "reasoning-end", id: "0" },
      ...text("1", "Look:"),
      content[2],
    ];
    const whole = await callModel(callOf(says([...content, finish]), { streaming: false }));
    expect(await callModel(callOf(says([...parts, finish])))).toEqual(whole);
    expect(whole.content).toEqual([
      { type: "thinking", text: "Hm", metadata: { anthropic: { signature: "s" } }, ...thinking },
      { type: "text", text: "Look:" },
    ]);
  });

  test("gathers a block's metadata from its start, its deltas and its end", async () => {
    const metadata = (fields: object) => ({ providerMetadata: { openai: fields } });
    const { content } = await callModel(
      callOf(
        says([
          { type: "reasoning-start", id: "r", ...metadata({ itemId: "rs_1", reasoningEncryptedContent: null }) },
          { type: "reasoning-delta", id: "r", delta: "Hm" },
          { type: "reasoning-end", id: "r", ...metadata({ reasoningEncryptedContent: "sealed" }) },
          ...text("0", "Yes."),
          finish,
        ]),
      ),
    );
    expect(content).toMatchObject([
      { type: "thinking", metadata: { openai: { itemId: "rs_1", reasoningEncryptedContent: "sealed" } } },
      { type: "text", text: "Yes." },
    ]);
  });

  test("has a place for a call only where something follows it", async () => {
    const call = (id: string) => ({ type: "tool-call", toolCallId: id, toolName: "f", input: '{"a":1}' });
    const last = await callModel(callOf(says([...text("0", "Look:"), call("a"), call("b"), finish])));
    expect(last.content).toBe("Look:");
    const between = await callModel(callOf(says([call("a"), ...text("0", "and"), call("b"), finish])));
    expect(between.content).toEqual([
      { type: "tool_call", id: "a" },
      { type: "text", text: "and" },
    ]);
    expect(between.toolCalls.map(({ id }) => id)).toEqual(["a", "b"]);
  });

  test("keeps blocks that overlap apart, each where it began, and takes an id again once it has ended", async () => {
    const { content } = await callModel(
      callOf(
        says([
          { type: "reasoning-start", id: "0" },
          { type: "text-start", id: "0" },
          { type: "text-delta", id: "0", delta: "A" },
          { type: "reasoning-delta", id: "0", delta: "T" },
          { type: "text-end", id: "0" },
          { type: "reasoning-end", id: "0" },
          ...text("0", "B"),
          { type: "text-delta", id: "never-started", delta: "C" },
          finish,
        ]),
      ),
    );
    expect(content).toEqual([
      { type: "thinking", text: "T", ...thinking },
      { type: "text", text: "A" },
      { type: "text", text: "B" },
      { type: "text", text: "C" },
    ]);
  });

  test("shows only the last report of a tool that the provider runs", async () => {
    const result = (more: object) => ({ type: "tool-result", toolCallId: "p", toolName: "search", ...more });
    const { content } = await callModel(
      callOf(
        says([
          { type: "tool-call", toolCallId: "p", toolName: "search", input: '{"q":"x"}', providerExecuted: true },
          result({ result: { progress: 1 }, preliminary: true }),
          result({ result: { found: 3 } }),
          ...text("0", "Three."),
          finish,
        ]),
      ),
    );
    expect(content).toEqual([
      { type: "provider_call", id: "p", name: "search", arguments: { q: "x" } },
      { type: "provider_result", id: "p", name: "search", result: { found: 3 } },
      { type: "text", text: "Three." },
    ]);
  });

  test("says which answer of which model it is", async () => {
    const metadata = { type: "response-metadata", id: "r1", modelId: "m-1-2026", timestamp: new Date(0) };
    const { response } = await callModel(callOf(says([metadata, ...text("0", "Hi"), finish])));
    expect(response).toEqual({ id: "r1", modelId: "m-1-2026" });
  });

  test("of nothing at all is an empty answer, when the model says that it is complete", async () => {
    expect(await callModel(callOf(says([finish])))).toMatchObject({ content: "", toolCalls: [], finishReason: "stop" });
  });
});

describe("calls of tools", () => {
  const calls = async (...given: readonly object[]) => {
    const parts = given.map((call) => ({ type: "tool-call", toolName: "f", input: "{}", ...call }));
    return (await callModel(callOf(says([...parts, finish])))).toolCalls;
  };

  test("get ids of their own where they have none or share one, and the others keep theirs", async () => {
    const ids = (
      await calls({ toolCallId: "a" }, { toolCallId: "a" }, {}, { toolCallId: "a_2" }, { toolCallId: "call_3" })
    ).map(({ id }) => id);
    expect(ids).toEqual(["a", "a_3", "call_3_2", "a_2", "call_3"]);
  });

  test("of one id and very many cost no more than their number", () => {
    const cost = (count: number): number => {
      const looking = vi.spyOn(Set.prototype, "has");
      const made = withUniqueIds(Array.from({ length: count }, () => ({ id: "a", name: "f", arguments: {} })));
      const looked = looking.mock.calls.length;
      looking.mockRestore();
      expect(new Set(made.map(({ id }) => id)).size).toBe(count);
      return looked;
    };
    expect(cost(4000) / cost(1000)).toBeLessThan(5);
  });

  test.each([
    ['{"a":[1]}', { a: [1] }],
    ["", {}],
    ["  ", {}],
    ['{"a":', '{"a":'],
    ['{"__proto__":{"x":1}}', JSON.parse('{"__proto__":{"x":1}}')],
    ['{"a":1e999}', '{"a":1e999}'],
    ['{"a":"\\ud83d"}', { a: "\ufffd" }],
    ['{"a":"\\ud83d\\ude00 \\\\ud83d"}', { a: "😀 \\ud83d" }],
  ])("with the input %s have these arguments", async (input, expected) => {
    expect((await calls({ toolCallId: "c", input }))[0]?.arguments).toEqual(expected);
  });

  test("with arguments nested too deep for an entry keep a beginning of the text", async () => {
    const input = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const [call] = await calls({ toolCallId: "c", input });
    expect(call?.arguments).toBe("[".repeat(2000));
  });
});

describe("deltas", () => {
  const told = async (parts: readonly unknown[]) => {
    const deltas: ModelDelta[] = [];
    const answer = await callModel(callOf(says([...parts, finish]), { onDelta: (delta) => deltas.push(delta) }));
    return { deltas, answer };
  };

  test("tell text, thinking and the input of tools as it comes", async () => {
    const { deltas } = await told([
      { type: "reasoning-start", id: "r" },
      { type: "reasoning-delta", id: "r", delta: "Hm" },
      { type: "reasoning-end", id: "r" },
      ...text("0", "A", "", "B"),
      { type: "tool-input-start", id: "c1", toolName: "f" },
      { type: "tool-input-delta", id: "c1", delta: '{"a"' },
      { type: "tool-input-delta", id: "c1", delta: ":1}" },
      { type: "tool-input-end", id: "c1" },
      { type: "tool-call", toolCallId: "c1", toolName: "f", input: '{"a":1}' },
    ]);
    const input = { type: "tool_input", id: "c1", toolCallId: "c1", toolName: "f" };
    expect(deltas).toEqual([
      { type: "thinking", id: "r", text: "Hm" },
      { type: "text", id: "0", text: "A" },
      { type: "text", id: "0", text: "B" },
      { ...input, text: '{"a"' },
      { ...input, text: ":1}" },
    ]);
  });

  test("never hold half of a character", async () => {
    const { deltas, answer } = await told(text("0", "a\ud83d", "\ude00b\ud83d", "c\ud83d"));
    expect(deltas.map((delta) => delta.text)).toEqual(["a", "😀b", "\ufffdc", "\ufffd"]);
    expect(answer.content).toBe("a😀b\ufffdc\ufffd");
  });
});

test("whatever metadata holds becomes JSON", async () => {
  const cycle: { self?: unknown } = {};
  cycle.self = cycle;
  const hostile = new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error("no");
      },
    },
  );
  const fields = {
    at: new Date(0),
    never: new Date(Number.NaN),
    big: 12n,
    nothing: undefined,
    f: () => 1,
    nan: Number.NaN,
    cut: "\ud83d",
    url: new URL("https://example.com/a"),
    bytes: new Uint8Array([1, 2, 3]),
    list: [undefined, 1],
    cycle,
    hostile,
    ["__proto__"]: { x: 1 },
  };
  const part = { type: "text-end", id: "0", providerMetadata: { p: fields, heddle: { reasoningOf: "x" }, odd: 1 } };
  const { content } = await callModel(callOf(says([{ type: "text-delta", id: "0", delta: "Hi" }, part, finish])));
  expect(content).toEqual([
    {
      type: "text",
      text: "Hi",
      metadata: {
        p: {
          at: "1970-01-01T00:00:00.000Z",
          never: null,
          big: "12",
          nan: null,
          cut: "\ufffd",
          url: "https://example.com/a",
          bytes: "AQID",
          list: [null, 1],
          cycle: {},
          ["__proto__"]: { x: 1 },
        },
      },
    },
  ]);
});
