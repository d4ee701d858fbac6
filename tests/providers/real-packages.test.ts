import fc from "fast-check";
import type { ToolSpec } from "heddle";
import { toAnthropic } from "heddle/providers";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Capture, startCapture } from "./support/capture.ts";
import { EXAMPLES } from "./support/examples.ts";
import { legalList } from "./support/legal.ts";
import { comparable, normalized, wireOfOurs } from "./support/normalize.ts";
import { wireOfPackage } from "./support/real.ts";

// What the AI SDK's own packages put on the wire for our prompt is what our formatters make of the same messages.

let capture: Capture;
beforeAll(async () => {
  capture = await startCapture();
});
afterAll(() => capture[Symbol.asyncDispose]());

const APIS = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;
const tools: readonly ToolSpec[] = [
  {
    name: "weather",
    description: "Weather of a city",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  },
  { name: "search", inputSchema: { type: "object", properties: {} } },
];

describe.each(APIS)("%s", (api) => {
  for (const [name, messages] of Object.entries(EXAMPLES)) {
    if (!comparable(api, messages)) continue;
    test(`${name}: equal to the package`, async () => {
      const theirs = await wireOfPackage(capture, api, messages, tools);
      expect(normalized(api, wireOfOurs(api, messages, tools))).toEqual(normalized(api, theirs));
    });
  }

  test("any legal list: equal to the package", async () => {
    const property = fc.asyncProperty(legalList, async (messages) => {
      fc.pre(comparable(api, messages));
      const theirs = await wireOfPackage(capture, api, messages);
      expect(normalized(api, wireOfOurs(api, messages))).toEqual(normalized(api, theirs));
    });
    await fc.assert(property, { numRuns: 60 });
  });
});

test("openai-chat: the package sends a result made of parts as JSON text with the bytes of the image, we do not", async () => {
  const messages = EXAMPLES["an image from a tool"] ?? [];
  const theirs = JSON.stringify((await wireOfPackage(capture, "openai-chat", messages))["messages"]);
  const ours = JSON.stringify(wireOfOurs("openai-chat", messages)["messages"]);
  expect(theirs).toContain('\\"type\\":\\"data\\"');
  expect(ours).not.toContain('\\"type\\"');
  expect(ours).toContain('"image_url"');
});

test.each(["openai-chat", "openai-responses"] as const)(
  "%s: a kind of file that it does not take is a text, also in the prompt for its package",
  async (api) => {
    const messages = EXAMPLES["a text file"] ?? [];
    for (const body of [wireOfOurs(api, messages), await wireOfPackage(capture, api, messages)]) {
      expect(JSON.stringify(body)).toContain(", text/plain]\\n");
    }
  },
);

test.each(["anthropic", "openai-responses"] as const)(
  "%s: a call keeps its name, whatever the model calls",
  async (api) => {
    const names = ["__proto__", "constructor", "toString", "weather"];
    const sent = names.map((name, index) => {
      const id = `call_${index}`;
      const call = { role: "assistant", content: "", toolCalls: [{ id, name, arguments: {} }] } as const;
      return [call, { role: "tool", toolCallId: id, name, content: "Unknown tool.", isError: true } as const] as const;
    });
    const wire = await wireOfPackage(capture, api, [{ role: "user", content: "Hi" }, ...sent.flat()], tools);
    const shown = [...JSON.stringify(wire["messages"] ?? wire["input"]).matchAll(/"name":("[^"]*"|\{\})/g)];
    expect(shown.map(([, name]) => name)).toEqual(['"__proto___"', '"constructor_"', '"toString_"', '"weather"']);
  },
);

test("cache breakpoints: the prompt gets them where toAnthropic puts them", async () => {
  const property = fc.asyncProperty(legalList, fc.nat(12), async (messages, stablePrefix) => {
    // Without text behind calls: the package moves it after the breakpoints were placed.
    fc.pre(messages.every(({ role, content }) => role !== "assistant" || !textBehindCall(content)));
    const cache = { stablePrefix };
    const theirs = await wireOfPackage(capture, "anthropic", messages, [], { cache });
    const ours = JSON.parse(JSON.stringify(toAnthropic(messages, [], { cache })));
    expect(normalized("anthropic", ours)).toEqual(normalized("anthropic", theirs));
  });
  await fc.assert(property, { numRuns: 60 });
});

function textBehindCall(content: unknown): boolean {
  const types = Array.isArray(content) ? content.map(({ type }) => type) : [];
  return types.lastIndexOf("text") > types.indexOf("tool_call") && types.includes("tool_call");
}
