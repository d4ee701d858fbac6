/**
 * A model of any provider package of the AI SDK: `LanguageModelV4`, V3 or V2. The type has only the members that Heddle
 * uses, and results are checked at run time, so it does not depend on one version of the specification.
 */
export interface ProviderModel {
  readonly specificationVersion: "v2" | "v3" | "v4";
  /** The package and its API, such as "openai.responses". */
  readonly provider: string;
  readonly modelId: string;
  doGenerate(options: ModelCallOptions): PromiseLike<ModelResult>;
  doStream(options: ModelCallOptions): PromiseLike<ModelStream>;
}

/** The fields of a model call that Heddle uses. Each version of the specification has more fields. */
export interface ModelCallOptions {
  readonly prompt: readonly object[];
  /** Aborted on a timeout and when the request is cancelled. Default: none. */
  readonly abortSignal?: AbortSignal | undefined;
}

/** An answer without streaming. */
export interface ModelResult {
  readonly content: readonly object[];
  readonly finishReason: unknown;
  readonly usage: unknown;
}

/** A streamed answer. */
export interface ModelStream {
  readonly stream: { getReader(): ModelReader };
}

/** The needed part of a stream reader, so that the type does not depend on DOM or Node types. */
export interface ModelReader {
  read(): PromiseLike<{ readonly done: boolean; readonly value?: unknown }>;
  cancel(reason?: unknown): PromiseLike<void>;
}

type Named = Pick<ProviderModel, "provider" | "modelId">;

/** A model, its name, or a list: the first is called, and the next one when a call of it has failed permanently. */
export type ModelChoice = ProviderModel | string | readonly (ProviderModel | string)[];

/** Finds the model of a name, such as "openai:gpt-5". Undefined: it does not know the name. */
export type ResolveModel = (name: string) => ProviderModel | undefined | Promise<ProviderModel | undefined>;

/** The models of a choice, in order. */
export function modelList(choice: ModelChoice): readonly (ProviderModel | string)[] {
  return Array.isArray(choice) ? choice : [choice as ProviderModel | string]; // a readonly list is a list
}

/** The names of models, as they are stored: a name as it is, and of a model `provider:model`. */
export function modelNames(choice: ModelChoice): readonly string[] {
  return modelList(choice).map((model) => (typeof model === "string" ? model : qualifiedModelName(model)));
}

/** The models of an agent before there is a request: of one that a function chooses, nothing is known. */
export function staticModels(model: ModelChoice | ((scope: never) => unknown)): readonly (ProviderModel | string)[] {
  return typeof model === "function" ? [] : modelList(model);
}

/**
 * The model name as `provider:model`. The provider is without its API, so that "openai.responses" and "openai.chat" are
 * both "openai".
 */
export function qualifiedModelName(model: Named): string {
  const { provider, modelId } = modelIdentity(model);
  return `${provider}:${modelId}`;
}

/** Provider and model id as separate values, as thinking parts store them. */
export function modelIdentity({ provider, modelId }: Named): { readonly provider: string; readonly modelId: string } {
  const name = provider.split(".")[0]?.replaceAll(/[:/]/g, "-"); // ":" and "/" separate the provider from the model
  return { provider: name || "unknown", modelId: modelId || "unknown" };
}

/** Providers whose packages store metadata under another name. The first match counts. */
const OWNERS: readonly (readonly [provider: RegExp, owner: string])[] = [
  [/^google\.vertex\b/, "vertex"],
  [/^(google-?)?vertex\.anthropic\b/, "anthropic"],
  [/^amazon-bedrock\b|^bedrock\b/, "bedrock"],
  [/azure/, "azure"],
];

/** The key under which a package stores its data of a part, in `metadata` and in `providerOptions`. */
export function metadataKey(model: Named): string {
  const other = OWNERS.find(([provider]) => provider.test(model.provider))?.[1];
  return other ?? modelIdentity(model).provider;
}
