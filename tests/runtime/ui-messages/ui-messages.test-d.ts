import {
  type ChatInit,
  type createUIMessageStreamResponse,
  type InferUITools,
  type readUIMessageStream,
  tool,
  type UIDataTypes,
  type UIMessage,
  type UIMessageChunk,
} from "ai";
import type { UIMessageChunk as UIMessageChunk6 } from "ai-v6";
import { AgentHost, content, defineAgent, defineTool, fail, jsonSchema, memoryStore, ok, suspend } from "heddle";
import {
  type chatTurn,
  lastUserContent,
  toUIMessages,
  type UIChatMessage,
  type UIChunk,
  type UIChunk6,
  type UIMessageSource,
  type UIToolTypes,
  uiMessageStream,
} from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";
import * as z from "zod";

test("a stream can be handed to the AI SDK as it is", () => {
  expectTypeOf<UIChunk>().toExtend<UIMessageChunk>();
  expectTypeOf<ReturnType<typeof uiMessageStream>>().toExtend<
    Parameters<typeof createUIMessageStreamResponse>[0]["stream"]
  >();
  expectTypeOf<ReturnType<typeof uiMessageStream>>().toExtend<Parameters<typeof readUIMessageStream>[0]["stream"]>();
});

test("a stream for AI SDK 6 can be handed to AI SDK 6 as it is", () => {
  expectTypeOf<UIChunk6>().toExtend<UIMessageChunk6>();
  expectTypeOf(uiMessageStream({} as UIMessageSource, { client: 6 })).toEqualTypeOf<ReadableStream<UIChunk6>>();
  expectTypeOf<UIChunk6>().toExtend<UIChunk>();
});

test("messages of a thread can be handed to useChat", () => {
  expectTypeOf<UIChatMessage>().toExtend<UIMessage>();
  expectTypeOf(toUIMessages).returns.toExtend<NonNullable<ChatInit<UIMessage>["messages"]>>();
});

test("what useChat sends can be handed to us", () => {
  expectTypeOf(lastUserContent).toBeCallableWith([] as UIMessage[]);
  expectTypeOf<UIMessage[]>().toExtend<Parameters<typeof chatTurn>[2]>();
  const host = AgentHost.create({ agent: defineAgent({ model: scriptedModel([]) }), store: memoryStore() });
  expectTypeOf(host).toExtend<Parameters<typeof chatTurn>[0]>();
});

const city = z.object({ city: z.string(), days: z.string().transform(Number).default(1) });
const tools = {
  weather: defineTool({ inputSchema: city, execute: async ({ city }) => ({ city, degrees: 14 }) }),
  plain: defineTool({ inputSchema: jsonSchema<{ a: number }>({ type: "object" }), execute: ({ a }) => a }),
  lazy: defineTool({
    inputSchema: () => city,
    execute: async function* () {
      yield ["a"];
    },
  }),
  marked: defineTool({
    inputSchema: { type: "object" },
    execute: ({ a, b }) => (a ? { seat: 4 } : b ? suspend("Which?") : fail("none")),
  }),
  detailed: defineTool({ inputSchema: city, execute: () => ok({ seat: 4 }) }),
  failing: defineTool({ inputSchema: city, execute: () => fail("none") }),
  parts: defineTool({ inputSchema: city, execute: () => content([{ type: "text", text: "a" }]) }),
  outside: defineTool({ inputSchema: city }),
  theirs: tool({ inputSchema: city, execute: async () => ({ a: 1 }) }),
};

test("the tool parts of a page have the types of the tools", () => {
  type Types = UIToolTypes<typeof tools>;
  expectTypeOf<Types["weather"]>().toEqualTypeOf<{
    input: { city: string; days?: string | undefined };
    output: { city: string; degrees: number };
  }>();
  expectTypeOf<Types["plain"]>().toEqualTypeOf<{ input: { a: number }; output: string }>();
  expectTypeOf<Types["lazy"]["input"]>().toEqualTypeOf<{ city: string; days: number }>();
  expectTypeOf<Types["lazy"]["output"]>().toEqualTypeOf<string[]>();
  expectTypeOf<Types["marked"]["output"]>().toEqualTypeOf<{ seat: number }>();
  expectTypeOf<Types["detailed"]["output"]>().toEqualTypeOf<{ seat: number }>();
  expectTypeOf<Types["failing"]["output"]>().toBeUnknown();
  expectTypeOf<Types["parts"]["output"]>().not.toBeUnknown();
  expectTypeOf<Types["outside"]["output"]>().toBeUnknown();
  expectTypeOf<Types["theirs"]["output"]>().toEqualTypeOf<InferUITools<{ a: typeof tools.theirs }>["a"]["output"]>();
});

test("a UIMessage of the AI SDK takes the types of the tools", () => {
  type Message = UIMessage<unknown, UIDataTypes, UIToolTypes<typeof tools>>;
  const degreesOf = (part: Message["parts"][number]) =>
    part.type === "tool-weather" && part.state === "output-available" ? part.output.degrees : undefined;
  expectTypeOf(degreesOf).returns.toEqualTypeOf<number | undefined>();
  const message = { id: "1", role: "assistant" as const, parts: [] };
  // @ts-expect-error a part of a tool that is not there
  message satisfies Message & { parts: [{ type: "tool-other" }] };
});
