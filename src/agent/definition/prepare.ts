import type { JsonObject } from "../../thread/json.ts";
import type { Content, Message } from "../../thread/message.ts";
import type { Failure } from "../signal.ts";
import type { ModelChoice, ProviderModel } from "./language-model.ts";
import type { RequestStep } from "./stop-when.ts";
import type { Tools } from "./tool.ts";

/** The request that a function of the agent is called for. The context is never stored. */
export interface RequestScope<Context> {
  readonly context: Context;
  readonly requestId: string;
  readonly threadId: string;
}

/** Whether the model may call tools (`auto`), must not (`none`), must (`required`), or must call one tool. */
export type ToolChoiceSetting = "auto" | "none" | "required" | { readonly tool: string };

/** How much a model thinks before it answers. */
export type Reasoning = "provider-default" | "none" | "minimal" | "low" | "medium" | "high" | "xhigh" | "max";

/** Settings of a model call. */
export interface CallSettings {
  /** The most tokens of one answer. Default: the provider's default. */
  readonly maxOutputTokens?: number | undefined;
  /** The sampling temperature. Default: the provider's default. */
  readonly temperature?: number | undefined;
  /** The share of likely tokens to choose from, above 0 to 1. Default: the provider's default. */
  readonly topP?: number | undefined;
  /** Texts at which the model stops. Default: none. */
  readonly stopSequences?: readonly string[] | undefined;
  /** The seed of the sampling, for equal answers where the provider supports it. Default: none. */
  readonly seed?: number | undefined;
  /** How much the model thinks, if it supports this setting. Default: the provider's default. */
  readonly reasoning?: Reasoning | undefined;
  /** Passed to the provider package as `providerOptions`. Default: none. */
  readonly providerOptions?: JsonObject | undefined;
}

type SdkToolChoice = ToolChoiceSetting | { readonly type: "tool"; readonly toolName: string };

/** The argument of `prepareCall`: the request as it would be made, with the settings of agent, mode and ask. */
export interface CallScope<Context> extends RequestScope<Context>, CallSettings {
  /** The context of the ask, under the name that it has in the AI SDK. */
  readonly options: Context;
  /** The content of the ask. */
  readonly prompt: Content;
  readonly model: ProviderModel;
  /** The system prompt. */
  readonly instructions?: string | undefined;
  readonly tools: Tools;
  /** The tools that the model is shown, by name. */
  readonly activeTools: readonly string[];
  /** In the form of the AI SDK. */
  readonly toolChoice?: SdkToolChoice | undefined;
  readonly headers?: { readonly [name: string]: string } | undefined;
}

/**
 * The parts of a request that `prepareCall` replaces, as the AI SDK has them. A field that is absent or unchanged stays, so
 * that `{ ...call, instructions }` is a valid result. The other fields of the argument cannot be changed.
 */
export interface PreparedCall extends CallSettings {
  /** A model, its name, or a list as in an agent. Default: that of the request. */
  readonly model?: ModelChoice | undefined;
  /** The system prompt. Default: that of the request. */
  readonly instructions?: string | undefined;
  /** All tools. One that is not in the argument is stored by name, as a tool of the ask. Default: those of the request. */
  readonly tools?: Tools | undefined;
  /** The only tools that the model is shown, by name. Default: those of the request. */
  readonly activeTools?: readonly string[] | undefined;
  /** "required" and a tool apply to the first call, as in an ask. Default: that of the request. */
  readonly toolChoice?: SdkToolChoice | undefined;
  /** Stored by name, as headers of the ask. Default: those of the request. */
  readonly headers?: { readonly [name: string]: string } | undefined;
}

/** The argument of `prepareStep`. */
export interface StepScope<Context> extends RequestScope<Context> {
  /** The steps of the request so far, as `stopWhen` gets them. */
  readonly steps: RequestStep[];
  /** From 0. */
  readonly stepNumber: number;
  readonly model: ProviderModel;
  /** The messages of the call, in Heddle's form. */
  readonly messages: readonly Message[];
}

/** The parts of one model call that `prepareStep` replaces. A field that is absent stays. */
export interface PreparedStep {
  /** A model, or its name. Default: that of the request. */
  readonly model?: ProviderModel | string | undefined;
  /** In the form of Heddle or of the AI SDK. Default: that of the request. */
  readonly toolChoice?: SdkToolChoice | undefined;
  /** The only tools that the model is shown, by name. Default: all of the request. */
  readonly activeTools?: readonly string[] | undefined;
  /** The system prompt. Default: that of the request. */
  readonly system?: string | undefined;
  /** All messages of the call. Default: those of the context. */
  readonly messages?: readonly Message[] | undefined;
  /** Fields that replace those of the request, for each provider. Default: those of the request. */
  readonly providerOptions?: JsonObject | undefined;
}

/** The argument of `repairToolCall`. */
export interface ToolCallRepair {
  /** The call as the model wrote it. `input` is JSON text, or the text that is not JSON. */
  readonly toolCall: {
    readonly type: "tool-call";
    readonly toolCallId: string;
    readonly toolName: string;
    readonly input: string;
  };
  readonly tools: Tools;
  /** The JSON Schema of a tool that the model was shown. */
  readonly inputSchema: (tool: { readonly toolName: string }) => Promise<JsonObject>;
  /** `tool_unknown` or `tool_bad_arguments`, with the message that the model would get. */
  readonly error: Failure;
  /** The messages that the model was shown. */
  readonly messages: readonly Message[];
}

/** A repaired call: its tool, and its arguments as JSON text. Other fields are not read. Null: it cannot be repaired. */
export type RepairToolCall = (
  repair: ToolCallRepair,
) => RepairedCall | null | undefined | PromiseLike<RepairedCall | null | undefined>;

interface RepairedCall {
  readonly toolName: string;
  readonly input: string;
}
