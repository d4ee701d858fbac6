import { modelIdentity, type ProviderModel } from "../../agent/definition/language-model.ts";

/** Providers that the conventions know under another name than the AI SDK's packages. */
const NAMES: readonly (readonly [provider: RegExp, name: string])[] = [
  [/^(google[.-])?vertex\b/, "gcp.vertex_ai"],
  [/^google\b/, "gcp.gemini"],
  [/^(amazon-)?bedrock\b/, "aws.bedrock"],
  [/^azure/, "azure.ai.openai"],
  [/^mistral/, "mistral_ai"],
  [/^xai\b/, "x_ai"],
  [/^moonshot/, "moonshot_ai"],
];

/** The provider of a model as `gen_ai.provider.name`: "openai.responses" is "openai". */
export function providerNameOf(model: ProviderModel): string {
  return NAMES.find(([provider]) => provider.test(model.provider))?.[1] ?? modelIdentity(model).provider;
}
