import { describe, expect, test } from "vitest";
import type { Message, PartMetadata, ToolCall, ToolSpec } from "../../src/thread/message.ts";
import {
  countMessage,
  countReadable,
  countTool,
  countTools,
  factsOf,
  heuristic,
  type TokenCounter,
} from "../../src/tokens/counter.ts";

/** One token for each character, nothing for the message: what is counted can be read off. */
const characters: TokenCounter = { count: (text) => text.length, perMessage: 0 };

/** The texts a message hands to its counter. */
function seen(message: Message): string {
  const texts: string[] = [];
  countMessage(message, { count: (text) => texts.push(text) });
  return texts.join("");
}

describe("the heuristic", () => {
  test.each([
    ["", 10],
    ["abc", 10],
    ["abcd", 11],
    ["What's 2+2?", 12],
    ["好好好好", 13],
    ["😀😀", 12],
  ])("counts a message %j as a quarter of its bytes and 10", (content, tokens) => {
    expect(countMessage({ role: "user", content }, heuristic)).toBe(tokens);
  });

  test("counts a tool as name, description and schema", () => {
    const spec: ToolSpec = { name: "weather", description: "Looks it up.", inputSchema: { type: "object" } };
    expect(countTool(spec, heuristic)).toBe(Math.floor('weather\nLooks it up.\n{"type":"object"}'.length / 4));
    expect(countTools([spec, spec, spec], heuristic)).toBe(3 * countTool(spec, heuristic));
    expect(countTools([], heuristic)).toBe(0);
  });
});

describe("everything that a model reads is counted", () => {
  test("the text of a system message, and of a user message in both of its forms", () => {
    expect(seen({ role: "system", content: "Be kind." })).toBe("Be kind.");
    expect(seen({ role: "user", content: "Hi" })).toBe("Hi");
    expect(
      seen({
        role: "user",
        content: [
          { type: "text", text: "Hi" },
          { type: "text", text: "there" },
        ],
      }),
    ).toBe("Hi\nthere");
  });

  test("thinking, and the ids, names and arguments of calls", () => {
    const message: Message = {
      role: "assistant",
      content: [
        { type: "thinking", text: "Hm", metadata: { anthropic: { signature: "s".repeat(1000) } } },
        { type: "text", text: "Let me look." },
        { type: "tool_call", id: "c1" },
      ],
      toolCalls: [{ id: "c1", name: "weather", arguments: { city: "Bern" } }],
    };
    expect(seen(message)).toBe('Hm\nLet me look.\nc1\nweather\n{"city":"Bern"}');
  });

  test("the name, id and content of a result", () => {
    expect(seen({ role: "tool", toolCallId: "c1", name: "weather", content: "sunny" })).toBe("c1\nweather\nsunny");
  });

  test("calls the provider has executed, their results, sources and parts of unknown kinds", () => {
    const message: Message = {
      role: "assistant",
      content: [
        { type: "provider_call", id: "p1", name: "search", arguments: "bern" },
        { type: "provider_result", id: "p1", name: "search", result: [1, 2] },
        { type: "source", url: "https://example.com", metadata: { openai: { secret: 1 } } },
        { type: "custom", note: "x" },
      ],
    };
    expect(seen(message)).toBe('p1\nsearch\n"bern"\np1\nsearch\n[1,2]\n{"url":"https://example.com"}\n{"note":"x"}');
  });

  test("a longer text never counts less", () => {
    let last = 0;
    for (let length = 0; length < 200; length++) {
      const tokens = countMessage({ role: "user", content: "é".repeat(length) }, heuristic);
      expect(tokens).toBeGreaterThanOrEqual(last);
      last = tokens;
    }
  });
});

describe("a counter of one's own", () => {
  test("needs only count, and gets the model", () => {
    const models: unknown[] = [];
    const counter: TokenCounter = { count: (text, model) => text.length * models.push(model) };
    expect(countMessage({ role: "user", content: "four" }, counter, "my:model")).toBe(4 + 10);
    expect(models).toEqual(["my:model"]);
    expect(factsOf(counter)).toEqual({ id: "custom", version: "0", perMessage: 10, factor: 1 });
  });

  test("may be an instance whose count uses this", () => {
    class Half {
      readonly share = 0.5;
      count(text: string): number {
        return text.length * this.share;
      }
    }
    expect(countMessage({ role: "user", content: "12345" }, new Half())).toBe(3 + 10);
  });

  test("may say what a message costs", () => {
    expect(countMessage({ role: "user", content: "four" }, characters)).toBe(4);
  });

  test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, "7", undefined])(
    "that gives %s is an error, never a wrong sum",
    (bad) => {
      const counter = { id: "mine", count: () => bad as number };
      expect(() => countMessage({ role: "user", content: "hi" }, counter)).toThrow(
        expect.objectContaining({
          name: "HeddleError",
          code: "invalid_token_count",
          message: expect.stringContaining('"mine"'),
        }),
      );
    },
  );

  test.each([{ perMessage: -1 }, { perMessage: Number.NaN }, { factor: -2 }])("with %o is an error", (facts) => {
    expect(() => countMessage({ role: "user", content: "hi" }, { count: () => 1, ...facts })).toThrow(/token counter/);
  });
});

describe("encrypted reasoning counts by its size", () => {
  const reasoning = (text: string, metadata: PartMetadata): Message => ({
    role: "assistant",
    content: [{ type: "thinking", text, metadata }],
  });
  const data = "A".repeat(1600);

  test.each([
    ["openai", "reasoningEncryptedContent"],
    ["anthropic", "signature"],
    ["anthropic", "redactedData"],
    ["google", "thoughtSignature"],
  ])("of %s, in %s", (provider, field) => {
    expect(countMessage(reasoning("", { [provider]: { [field]: data } }), heuristic)).toBe(10 + 300);
    expect(countReadable(reasoning("", { [provider]: { [field]: data } }), heuristic)).toBe(10);
  });

  test("a readable text beside it is a part of it, and the larger of the two counts", () => {
    const text = "word ".repeat(80);
    expect(countMessage(reasoning(text, { anthropic: { signature: data } }), heuristic)).toBe(10 + 300);
    expect(countMessage(reasoning(text, { anthropic: { signature: "A".repeat(16) } }), heuristic)).toBe(10 + 100);
  });

  test("a signature on a tool call counts too", () => {
    const call = { id: "c1", name: "look", arguments: {} };
    const signed = { ...call, metadata: { google: { thoughtSignature: data } } };
    const cost = (toolCalls: readonly ToolCall[]) =>
      countMessage({ role: "assistant", content: "", toolCalls }, heuristic);
    expect(cost([signed])).toBe(cost([call]) + 300);
  });
});
