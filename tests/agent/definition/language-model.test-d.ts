import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { expectTypeOf, test } from "vitest";
import type { LanguageModel } from "../../../src/agent/definition/language-model.ts";

test("a model of every version of the specification can be passed", () => {
  expectTypeOf<LanguageModelV4>().toExtend<LanguageModel>();
  expectTypeOf<LanguageModelV3>().toExtend<LanguageModel>();
  expectTypeOf<LanguageModelV2>().toExtend<LanguageModel>();
});

test("what is no model cannot", () => {
  expectTypeOf<string>().not.toExtend<LanguageModel>();
  expectTypeOf<Omit<LanguageModelV4, "doStream">>().not.toExtend<LanguageModel>();
  expectTypeOf<
    Omit<LanguageModelV4, "specificationVersion"> & { specificationVersion: "v1" }
  >().not.toExtend<LanguageModel>();
});
