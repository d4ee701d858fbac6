import type { ChatInit, createUIMessageStreamResponse, readUIMessageStream, UIMessage, UIMessageChunk } from "ai";
import type { UIMessageChunk as UIMessageChunk6 } from "ai-v6";
import { AgentHost, defineAgent, memoryStore } from "heddle";
import {
  type chatTurn,
  lastUserContent,
  toUIMessages,
  type UIChatMessage,
  type UIChunk,
  type UIChunk6,
  type UIMessageSource,
  uiMessageStream,
} from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";

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
