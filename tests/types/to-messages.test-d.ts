import type { ModelMessage } from "@ai-sdk/provider-utils";
import { type JsonObject, type Message, Thread } from "heddle";
import type { MessageFormat } from "heddle/core";
import { expectTypeOf, test } from "vitest";

const thread = Thread.create();

test("messages of the AI SDK's format are its ModelMessages", () => {
  expectTypeOf(thread.toMessages({ format: "model-messages" })).toExtend<ModelMessage[]>();
});

test("messages of a format are typed by it", () => {
  expectTypeOf(thread.toMessages({ format: "neutral" })).toEqualTypeOf<Message[]>();
  expectTypeOf(thread.toMessages({ format: "openai-chat" })).toEqualTypeOf<JsonObject[]>();
  expectTypeOf(thread.toMessages()).toEqualTypeOf<JsonObject[]>();
  expectTypeOf(thread.toMessages).toBeCallableWith({ format: "ui-messages" as MessageFormat });
  expectTypeOf(thread.toMessages).toBeCallableWith({ format: undefined });
});
