import type { useChat } from "@ai-sdk/react";
import type { ChatTransport, UIMessage } from "ai";
import type { useChat as useChat6 } from "ai-react-v6";
import type { ChatTransport as ChatTransport6, UIMessage as UIMessage6 } from "ai-v6";
import { chatTransport, followThread } from "heddle/client";
import { useThread } from "heddle/react";
import { expectTypeOf, test } from "vitest";

test("the transport can be handed to the AI SDK as it is", () => {
  expectTypeOf(chatTransport()).toExtend<ChatTransport<UIMessage>>();
});

test("the transport can be handed to AI SDK 6 as it is", () => {
  expectTypeOf(chatTransport({ client: 6 })).toExtend<ChatTransport6<UIMessage6>>();
});

test("what useChat returns can be handed to useThread", () => {
  expectTypeOf(useThread<UIMessage>).toBeCallableWith({} as ReturnType<typeof useChat>, chatTransport());
  expectTypeOf(useThread<UIMessage6>).toBeCallableWith({} as ReturnType<typeof useChat6>, chatTransport({ client: 6 }));
  expectTypeOf(followThread<UIMessage>)
    .parameter(0)
    .toHaveProperty("setMessages");
});
