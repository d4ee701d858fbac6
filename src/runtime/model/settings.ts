import { metadataKey, type ProviderModel } from "../../agent/definition/language-model.ts";
import { thawObject } from "../../providers/metadata.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { PartMetadata, ToolSpec } from "../../thread/message.ts";
import type { ModelSpec } from "./spec.ts";

/** How a model is to answer; what is absent is the provider's to choose. */
export interface ModelSettings {
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly stopSequences?: readonly string[];
  readonly seed?: number;
  readonly toolChoice?: ToolChoice;
  readonly responseFormat?: ResponseFormat;
  /** How much the model is to think. Models of V3 and V2 are told in their providerOptions. */
  readonly reasoning?: "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";
  readonly providerOptions?: PartMetadata;
  readonly headers?: { readonly [name: string]: string };
}

type ToolChoice = "auto" | "none" | "required" | { readonly type: "tool"; readonly toolName: string };

type ResponseFormat =
  | { readonly type: "text" }
  | { readonly type: "json"; readonly schema?: JsonObject; readonly name?: string; readonly description?: string };

/** The options of a call besides its prompt: copies, because packages write into what they are given. */
export function callSettings(
  model: ProviderModel,
  spec: ModelSpec,
  settings: ModelSettings,
  tools: readonly ToolSpec[] = [],
): object {
  const { maxOutputTokens, temperature, stopSequences, seed, toolChoice, responseFormat, reasoning, headers } =
    settings;
  const providerOptions = providerOptionsFor(model, settings.providerOptions);
  return defined({
    maxOutputTokens,
    temperature,
    seed,
    stopSequences: stopSequences && [...stopSequences],
    responseFormat: responseFormat && thawObject(responseFormat),
    reasoning: spec.takesReasoning ? reasoning : undefined,
    headers: headers && { ...headers },
    providerOptions: providerOptions && thawObject(providerOptions),
    ...(tools.length > 0 && { tools: tools.map(functionTool), toolChoice: toolChoice && choiceOf(toolChoice) }),
  });
}

function functionTool({ name, description, inputSchema }: ToolSpec): object {
  const told = description === undefined ? {} : { description };
  return { type: "function", name, ...told, inputSchema: thawObject(inputSchema) };
}

function choiceOf(choice: ToolChoice): object {
  return typeof choice === "string" ? { type: choice } : { ...choice };
}

/**
 * OpenAI's Responses API keeps every answer and would be asked for by id, which breaks once history is cut. Unless told
 * otherwise it keeps nothing, and thinking travels sealed in the messages.
 */
function providerOptionsFor(model: ProviderModel, given: PartMetadata | undefined): PartMetadata | undefined {
  const owner = metadataKey(model);
  if (!model.provider.endsWith(".responses") || (owner !== "openai" && owner !== "azure")) return given;
  // For Azure the options of OpenAI count as well, but only one of the two.
  const name = given?.[owner] === undefined && given?.["openai"] !== undefined ? "openai" : owner;
  return { ...given, [name]: { store: false, ...given?.[name] } };
}

/** Whether OpenAI or Azure was asked to keep its items. */
export function isStored(model: ProviderModel, settings: ModelSettings): boolean {
  const options = providerOptionsFor(model, settings.providerOptions);
  return [options?.["openai"], options?.["azure"]].some((own) => own?.["store"] === true);
}

function defined(fields: { readonly [name: string]: unknown }): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
