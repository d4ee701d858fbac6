import type { ChatInit, createUIMessageStreamResponse, readUIMessageStream, UIMessage, UIMessageChunk } from "ai";
import { AgentHost, defineAgent, memoryStore } from "heddle";
import {
  type chatTurn,
  lastUserContent,
  toUIMessages,
  type UIChatMessage,
  type UIChunk,
  type uiMessageStream,
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
