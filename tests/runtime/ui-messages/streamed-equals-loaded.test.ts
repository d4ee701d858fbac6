import type { LanguageModelV4, LanguageModelV4Content, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { UIMessage } from "ai";
import fc from "fast-check";
import { AgentServer, defineAgent, memoryStore, type ToolOptions } from "heddle";
import { toUIMessages, type UIRequestFacts, uiMessageStream } from "heddle/ai-sdk";
import { expect, test } from "vitest";
import { anything, chat, readBySdk } from "./chat.ts";

// The message that a page has built from the stream is the one that it gets when it is loaded again.

type Answer = readonly LanguageModelV4Content[];

const word = fc.string({ minLength: 1, maxLength: 6, unit: "grapheme" });
const metadata = fc.constantFrom(undefined, { openai: { itemId: "i1" } });
const said = fc.record({ type: fc.constantFrom("text" as const, "reasoning" as const), text: word });
const source = fc.oneof(
  fc.record({
    type: fc.constant("source" as const),
    sourceType: fc.constant("url" as const),
    id: word,
    url: fc.constant("https://example.com"),
    title: fc.option(word, { nil: undefined }),
    providerMetadata: metadata,
  }),
  fc.record({
    type: fc.constant("source" as const),
    sourceType: fc.constant("document" as const),
    id: word,
    mediaType: fc.constant("application/pdf"),
    title: word,
    filename: fc.option(word, { nil: undefined }),
  }),
);
const file = fc.record({
  type: fc.constant("file" as const),
  mediaType: fc.constant("image/png"),
  data: fc.constant({ type: "data" as const, data: "AAAA" }),
  providerMetadata: metadata,
});
const custom = fc.record({ type: fc.constant("custom" as const), kind: fc.constant("openai.compaction" as const) });
const searched = fc.tuple(fc.uuid(), word, fc.boolean()).map(([toolCallId, input, isError]): Answer => {
  const call = { toolCallId, toolName: "search", providerExecuted: true };
  return [
    { type: "tool-call", ...call, input: JSON.stringify({ input }), providerMetadata: { openai: { itemId: "i2" } } },
    { type: "tool-result", ...call, result: { hits: input }, ...(isError && { isError }) },
  ];
});
const call = fc
  .tuple(fc.uuid(), word, fc.constantFrom("echo", "fails", "unknown"))
  .map(
    ([toolCallId, input, toolName]): Answer => [
      { type: "tool-call", toolCallId, toolName, input: JSON.stringify({ input }) },
    ],
  );
/** A tool that writes parts for the page. Calls of one answer run at the same time, and may write parts with the same id. */
const part = fc.record({
  type: fc.constantFrom("data-chart", "data-note"),
  id: fc.option(fc.constantFrom("a", "b"), { nil: undefined }),
  data: word,
  transient: fc.boolean(),
  turns: fc.nat({ max: 3 }),
});
const writing = fc
  .tuple(fc.uuid(), fc.array(part, { maxLength: 4 }))
  .map(
    ([toolCallId, parts]): Answer => [
      { type: "tool-call", toolCallId, toolName: "writes", input: JSON.stringify({ parts }) },
    ],
  );
const whole: fc.Arbitrary<Answer> = fc.oneof(
  { weight: 3, arbitrary: said.map((one) => [one]) },
  source.map((one): Answer => [JSON.parse(JSON.stringify(one))]),
  file.map((one): Answer => [JSON.parse(JSON.stringify(one))]),
  custom.map((one) => [one]),
  searched,
);
const answers = fc.tuple(
  fc.array(
    fc
      .tuple(fc.array(fc.oneof(whole, call, writing), { maxLength: 4 }), call)
      .map(([all, last]) => [...all.flat(), ...last]),
    { maxLength: 2 },
  ),
  fc.array(whole, { maxLength: 4 }).map((all): Answer => [...all.flat(), { type: "text", text: "End." }]),
);
/** Whether blocks are streamed in pieces, one beside the other, with the inputs of calls. */
const manner = fc.record({ streams: fc.boolean(), overlaps: fc.boolean(), hasInputs: fc.boolean() });

type Manner = { readonly streams: boolean; readonly overlaps: boolean; readonly hasInputs: boolean };

function partsOf(answer: Answer, { overlaps, hasInputs }: Manner): LanguageModelV4StreamPart[] {
  const ends: LanguageModelV4StreamPart[] = [];
  const parts = answer.flatMap((one, index): LanguageModelV4StreamPart[] => {
    if (one.type === "text" || one.type === "reasoning") {
      const id = `${index}`;
      const [first = "", ...rest] = one.text;
      const end = { type: `${one.type}-end`, id, providerMetadata: { openai: { itemId: id } } } as const;
      if (overlaps) ends.push({ type: `${one.type}-delta`, id, delta: rest.join("") }, end);
      const begun = [
        { type: `${one.type}-start`, id } as const,
        { type: `${one.type}-delta`, id, delta: first } as const,
      ];
      return overlaps ? begun : [...begun, { type: `${one.type}-delta`, id, delta: rest.join("") }, end];
    }
    if (one.type !== "tool-call" || one.providerExecuted || !hasInputs) return [one as LanguageModelV4StreamPart];
    const { toolCallId: id, toolName, input } = one;
    return [
      { type: "tool-input-start", id, toolName },
      { type: "tool-input-delta", id, delta: input },
      { type: "tool-input-end", id },
      one,
    ];
  });
  return [...parts, ...ends];
}

function modelOf(script: readonly Answer[], how: Manner): LanguageModelV4 {
  let at = 0;
  const usage = {
    inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: 1, text: 1, reasoning: 0 },
  };
  const next = () => {
    const content = script[at++] ?? [];
    const isCalling = content.some((one) => one.type === "tool-call" && !one.providerExecuted);
    const unified = isCalling ? ("tool-calls" as const) : ("stop" as const);
    return { content, finishReason: { unified, raw: undefined } };
  };
  return {
    specificationVersion: "v4",
    provider: "made",
    modelId: "made",
    supportedUrls: {},
    doGenerate: async () => ({ ...next(), content: [...(script[at - 1] ?? [])], usage, warnings: [] }),
    async doStream() {
      const { content, finishReason } = next();
      const parts: LanguageModelV4StreamPart[] = [
        { type: "stream-start", warnings: [] },
        ...partsOf(content, how),
        { type: "finish", finishReason, usage },
      ];
      return { stream: ReadableStream.from(parts) as ReadableStream<LanguageModelV4StreamPart> };
    },
  };
}

interface Written {
  readonly parts: readonly (Parameters<ToolOptions["write"]>[0] & { readonly turns: number })[];
}

const tools = {
  writes: {
    inputSchema: anything,
    execute: async ({ parts }: Written, { write }: ToolOptions) => {
      for (const { turns, ...one } of parts) {
        for (let turn = 0; turn < turns; turn++) await Promise.resolve();
        write(one);
      }
      return "written";
    },
  },
  echo: { inputSchema: anything, execute: (input: unknown) => input },
  fails: {
    inputSchema: anything,
    execute: () => {
      throw new Error("secret");
    },
  },
};

async function start(script: readonly Answer[], how: Manner) {
  const store = memoryStore();
  const model = modelOf(script, how);
  const agent = defineAgent({ model, tools, modelMaxRetries: 0, streaming: how.streams } as never);
  const server = await AgentServer.start({ agent, store, threadId: "t", warn: () => undefined });
  const loaded = async () => JSON.parse(JSON.stringify(toUIMessages(await server.thread()).at(-1))) as UIMessage;
  return { server, loaded };
}

test("a message is the same streamed and loaded, whatever parts its answers have, and however they come", async () => {
  await fc.assert(
    fc.asyncProperty(answers, manner, async ([calling, last], how) => {
      const { server, loaded } = await start([...calling, last], how);
      const request = await server.ask("Go");
      const { message, errors } = await readBySdk(uiMessageStream(request));
      expect(errors).toEqual([]);
      expect(message).toEqual(await loaded());
      expect(await readBySdk(uiMessageStream(request))).toEqual({ message, errors }); // late
      await server.stop();
    }),
    { numRuns: 200 },
  );
});

test.each([
  ["completed", "final_answer", "Done."],
  ["failed", undefined, { error: { status: 400, message: "wrong" } }],
])("the metadata of a %s request is the same streamed and loaded", async (status, terminationReason, step) => {
  const { server } = await chat([step]);
  const request = await server.ask("Go");
  const metadata = ({ requestId, usage, startedAt, endedAt, ...facts }: UIRequestFacts) => {
    expect(endedAt).toBeGreaterThanOrEqual(startedAt);
    return { ...facts, requestId, endedAt, tokens: usage.outputTokens ?? 0, heddle: "mine" };
  };
  const { message } = await readBySdk(uiMessageStream(request, { metadata, thread: () => server.thread() }));
  expect(message.metadata).toMatchObject({ status, requestId: request.id, tokens: expect.any(Number), agent: "agent" });
  expect((message.metadata as Partial<UIRequestFacts>).terminationReason).toBe(terminationReason);
  expect(message.metadata).not.toHaveProperty("heddle", "mine");
  expect(toUIMessages(await server.thread(), { metadata }).at(-1)?.metadata).toEqual(message.metadata);
  const fails = () => {
    throw new Error("secret");
  };
  const { errors } = await readBySdk(uiMessageStream(request, { metadata: fails, thread: () => server.thread() }));
  expect(errors).toEqual(status === "failed" ? ["An error occurred."] : []);
  expect(() => uiMessageStream(request, { metadata })).toThrow("`metadata` needs `thread`");
  await server.stop();
});
