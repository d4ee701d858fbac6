import type {
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4Content,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import type { ScriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";
import type { ProviderModel } from "../../src/agent/definition/language-model.ts";

type Generated = Awaited<ReturnType<ScriptedModel["doGenerate"]>>["content"][number];
type Streamed =
  Awaited<ReturnType<ScriptedModel["doStream"]>>["stream"] extends ReadableStream<infer Part> ? Part : never;

test("a scripted model is a language model of the AI SDK, and one that agents take", () => {
  expectTypeOf<ScriptedModel>().toExtend<LanguageModelV4>();
  expectTypeOf<ScriptedModel>().toExtend<ProviderModel>();
});

test("it takes every request, with every setting, and says nothing the SDK does not know", () => {
  expectTypeOf<LanguageModelV4CallOptions>().toExtend<Parameters<ScriptedModel["doStream"]>[0]>();
  expectTypeOf<keyof LanguageModelV4CallOptions>().toEqualTypeOf<keyof Parameters<ScriptedModel["doStream"]>[0]>();
  expectTypeOf<Generated>().toExtend<LanguageModelV4Content>();
  expectTypeOf<Streamed>().toExtend<LanguageModelV4StreamPart>();
});
