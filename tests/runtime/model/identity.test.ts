import type { LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import fc from "fast-check";
import { type JsonObject, project, Thread } from "heddle";
import { expect, test } from "vitest";
import { callModel } from "../../../src/runtime/model/call.ts";
import { callOf, finish, says } from "./support/fakes.ts";

const word = fc.string({ unit: "grapheme", minLength: 1, maxLength: 8 }).map((text) => `a${text.toWellFormed()}z`);
const scalar = fc.oneof(word, fc.integer(), fc.boolean(), fc.constant(null));
const json = fc.oneof(
  scalar,
  fc.array(scalar, { maxLength: 2 }),
  fc.record({ a: scalar, b: fc.record({ c: scalar }) }),
);
const metadata = fc.dictionary(
  fc.constantFrom("openai", "anthropic", "google"),
  fc.dictionary(fc.constantFrom("itemId", "signature", "x"), json),
);
const providerMetadata = metadata.filter((owners) => Object.keys(owners).length > 0);
const data = fc.oneof(
  fc.uint8Array({ maxLength: 9, minLength: 1 }).map((data) => ({ type: "data" as const, data })),
  fc.constant({ type: "url" as const, url: new URL("https://example.com/a.png") }),
);
const name = fc.constantFrom("search", "get_time-2");
const input = fc.dictionary(fc.constantFrom("a", "b"), json).map((input) => JSON.stringify(input));
const id = fc.constant("");

type Bare<T> = T extends unknown ? Omit<T, "providerMetadata"> : never;

/** It may hand on to any provider, so it is shown what any provider ran. */
const GATEWAY = { provider: "gateway" } as const;

/** Every type of content that a model can answer with. Ids are given afterwards. */
const bare: fc.Arbitrary<Bare<LanguageModelV4Content>> = fc.oneof(
  fc.record({ type: fc.constantFrom("text", "reasoning"), text: word }),
  fc.record({ type: fc.constant("custom"), kind: fc.constant("test.note") }),
  fc.record({ type: fc.constantFrom("file", "reasoning-file"), mediaType: fc.constant("image/png"), data }),
  fc.record({ type: fc.constant("source"), sourceType: fc.constant("url"), id: word, url: word }),
  fc.record({ type: fc.constant("tool-approval-request"), approvalId: word, toolCallId: word }),
  fc.record({ type: fc.constant("tool-call"), toolCallId: id, toolName: name, input }),
  fc.record({
    type: fc.constant("tool-call"),
    toolCallId: id,
    toolName: name,
    input,
    providerExecuted: fc.constant(true),
  }),
  fc.record({
    type: fc.constant("tool-result"),
    toolCallId: id,
    toolName: name,
    result: json.filter((result) => result !== null),
    isError: fc.boolean(),
  }),
);

const content: fc.Arbitrary<LanguageModelV4Content> = fc
  .tuple(bare, fc.option(providerMetadata))
  .map(([part, providerMetadata]) => (providerMetadata === null ? part : { ...part, providerMetadata }));

const answer = fc
  .array(content, { maxLength: 8 })
  .map((parts) => [...parts, { type: "text" as const, text: "The end." }])
  .map((parts) => parts.map((part, at) => ("toolName" in part ? { ...part, toolCallId: `c${at}` } : part)));

/** The same as a stream: blocks with their metadata at the start, in the middle or at the end. */
function streamed(part: LanguageModelV4Content, at: number): readonly LanguageModelV4StreamPart[] {
  if (part.type !== "text" && part.type !== "reasoning") return [part];
  const { type, text, providerMetadata } = part;
  const cut = Math.floor(text.length / 2);
  const own = (step: number) => (providerMetadata !== undefined && at % 3 === step ? { providerMetadata } : {});
  const block = `${at % 2}`; // ids come again once their block has ended
  return [
    { type: `${type}-start`, id: block, ...own(0) },
    { type: `${type}-delta`, id: block, delta: text.slice(0, cut) },
    { type: `${type}-delta`, id: block, delta: "", ...own(1) },
    { type: `${type}-delta`, id: block, delta: text.slice(cut) },
    { type: `${type}-end`, id: block, ...own(2) },
  ];
}

/** What the specification's prompt has a place for, with the metadata under its other name. */
function prompted(part: LanguageModelV4Content): readonly object[] {
  const { providerMetadata: providerOptions, ...said } = part;
  const options = providerOptions === undefined ? {} : { providerOptions };
  switch (said.type) {
    case "source":
    case "tool-approval-request":
      return [];
    case "tool-call":
      return [{ ...said, input: JSON.parse(said.input), ...options }];
    case "tool-result": {
      const { result: value, isError, ...rest } = said;
      return [{ ...rest, output: { type: isError === true ? "error-json" : "json", value }, ...options }];
    }
    case "file":
    case "reasoning-file": {
      const data =
        said.data.type === "data"
          ? { type: "data", data: btoa(String.fromCharCode(...(said.data.data as Uint8Array))) }
          : said.data;
      return [{ ...said, data, ...options }];
    }
    default:
      return [{ ...said, ...options }];
  }
}

/** Commits what was said as an agent does, and shows it to the same model again. */
async function shownAgain(said: {
  readonly content: unknown;
  readonly toolCalls: readonly unknown[];
}): Promise<unknown> {
  const payload = { contextRef: "default", role: "assistant", content: said.content, toolCalls: said.toolCalls };
  const thread = Thread.create().append([
    { kind: "ai_message", payload: { contextRef: "default", role: "user", content: "Hi" } },
    { kind: "ai_message", payload: payload as JsonObject }, // whether it is JSON is what append finds out
    { kind: "ai_message", payload: { contextRef: "default", role: "user", content: "Go on" } },
  ]);
  const { messages } = project({
    thread,
    model: "gateway:any",
    policy: { maxInputTokens: 1_000_000, thinking: "keep" },
  });
  const model = says([finish], GATEWAY);
  await callModel(callOf(model, { messages }));
  return model.calls[0]?.prompt[1]?.content;
}

test("an answer goes back to its model unchanged: every type of content, in order, with its metadata", async () => {
  await fc.assert(
    fc.asyncProperty(answer, async (parts) => {
      const whole = await callModel(callOf(says([...parts, finish], GATEWAY), { streaming: false }));
      const inParts = await callModel(callOf(says([...parts.flatMap(streamed), finish], GATEWAY)));
      expect(inParts).toEqual(whole);
      expect(await shownAgain(whole)).toEqual(parts.flatMap(prompted));
    }),
    { numRuns: 300 },
  );
});

test("an answer of a model of an older specification also goes back unchanged", async () => {
  const plain = content.filter(({ type }) => ["text", "reasoning", "tool-call", "source"].includes(type));
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("v2" as const, "v3" as const),
      fc.array(plain, { maxLength: 6 }),
      async (version, some) => {
        const parts = [...some, { type: "text" as const, text: "The end." }].map((part, at) =>
          "toolName" in part ? { ...part, toolCallId: `c${at}` } : part,
        );
        const said = await callModel(callOf(says([...parts.flatMap(streamed), finish], { ...GATEWAY, version })));
        expect(await shownAgain(said)).toEqual(parts.flatMap(prompted));
      },
    ),
    { numRuns: 100 },
  );
});
