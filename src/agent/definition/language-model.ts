/**
 * A model of any provider package of the AI SDK: `LanguageModelV4`, and V3 and V2 as well. Only what is called is asked
 * for, and what comes back is looked at piece by piece, so nothing here depends on a version of the specification.
 */
export interface LanguageModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  /** The package and its API, such as "openai.responses". */
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: ModelCallOptions): PromiseLike<ModelResult>;
  doStream(options: ModelCallOptions): PromiseLike<ModelStream>;
}

/** What a call is given; each version of the specification says more of the fields. */
export interface ModelCallOptions {
  readonly prompt: readonly object[];
  readonly abortSignal?: AbortSignal | undefined;
}

/** A whole answer at once. */
export interface ModelResult {
  readonly content: readonly object[];
  readonly finishReason: unknown;
  readonly usage: unknown;
}

/** An answer in parts. */
export interface ModelStream {
  readonly stream: { getReader(): ModelReader };
}

/** Of a ReadableStream what is needed; so the type does not ask for one library of globals or another. */
export interface ModelReader {
  read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(reason?: unknown): PromiseLike<void>;
}

type Named = Pick<LanguageModel, "provider" | "modelId">;

/**
 * `provider:model`, as policies and the rule for thinking read it: the provider without its API, so that
 * "openai.responses" and "openai.chat" are both "openai".
 */
export function modelNameOf(model: Named): string {
  const { provider, modelId } = makerOf(model);
  return `${provider}:${modelId}`;
}

/** The same in two parts, as they stand in a thinking part. */
export function makerOf({ provider, modelId }: Named): { readonly provider: string; readonly modelId: string } {
  const name = provider.split(".")[0]?.replaceAll(/[:/]/g, "-"); // either would end the provider's name too early
  return { provider: name || "unknown", modelId: modelId || "unknown" };
}

/** Where packages keep their metadata under another name than their own; the first that begins the provider's. */
const OWNERS: readonly (readonly [provider: RegExp, owner: string])[] = [
  [/^google\.vertex\b/, "vertex"],
  [/^(google-?)?vertex\.anthropic\b/, "anthropic"],
  [/^amazon-bedrock\b|^bedrock\b/, "bedrock"],
  [/azure/, "azure"],
];

/** The name under which the package keeps what it wants back with a part, in `metadata` and in providerOptions. */
export function ownerOf(model: Named): string {
  const other = OWNERS.find(([provider]) => provider.test(model.provider))?.[1];
  return other ?? makerOf(model).provider;
}
