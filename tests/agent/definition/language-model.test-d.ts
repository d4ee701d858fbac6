import type { LanguageModelV2, LanguageModelV3, LanguageModelV4 } from "@ai-sdk/provider";
import { expectTypeOf, test } from "vitest";
import type { ProviderModel } from "../../../src/agent/definition/language-model.ts";

test("a model of every version of the specification can be passed", () => {
  expectTypeOf<LanguageModelV4>().toExtend<ProviderModel>();
  expectTypeOf<LanguageModelV3>().toExtend<ProviderModel>();
  expectTypeOf<LanguageModelV2>().toExtend<ProviderModel>();
});

test("what is no model cannot", () => {
  expectTypeOf<string>().not.toExtend<ProviderModel>();
  expectTypeOf<Omit<LanguageModelV4, "doStream">>().not.toExtend<ProviderModel>();
  expectTypeOf<
    Omit<LanguageModelV4, "specificationVersion"> & { specificationVersion: "v1" }
  >().not.toExtend<ProviderModel>();
});
