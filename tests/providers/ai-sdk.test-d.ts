import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import type { AISDKMessage, toAISDKPrompt } from "heddle/providers";
import { expectTypeOf, test } from "vitest";

test("a prompt can be handed to a model as it is", () => {
  expectTypeOf<AISDKMessage[]>().toExtend<LanguageModelV4Prompt>();
  expectTypeOf<ReturnType<typeof toAISDKPrompt>>().toExtend<LanguageModelV4Prompt>();
});
