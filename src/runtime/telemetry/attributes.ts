import { modelIdentity, type ProviderModel } from "../../agent/definition/language-model.ts";
import type { ModelAnswer, ModelFinishReason, Usage } from "../../agent/model-call.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Content, FileContentPart, Message, Part, ToolCall } from "../../thread/message.ts";
import type { ModelSettings } from "../model/specification.ts";
import type { Attributes } from "./measured-span.ts";
import type { TelemetryScene } from "./telemetry.ts";

// Names follow the GenAI semantic conventions 1.41, the latest release. Names that they lack start with "heddle.".

/** Attributes of every span. */
export function agentAttributes({ definition, threadId }: TelemetryScene): Attributes {
  return { "gen_ai.agent.name": definition.name, "gen_ai.conversation.id": threadId };
}

/** Attributes of the span that a directive starts. */
export function directiveAttributes(directive: {
  readonly requestId: string;
  readonly runId: string;
  readonly callId?: string;
  readonly iteration?: number;
}): Attributes {
  return {
    "heddle.request.id": directive.requestId,
    "heddle.run.id": directive.runId,
    "heddle.call.id": directive.callId,
    "heddle.iteration": directive.iteration,
  };
}

/** The model that is called. Spans and metrics use the same names. */
export function modelAttributes(model: Pick<ProviderModel, "provider" | "modelId">): Attributes {
  return { "gen_ai.provider.name": providerNameOf(model), "gen_ai.request.model": model.modelId };
}

export function settingsAttributes(settings: ModelSettings): Attributes {
  const { maxOutputTokens, temperature, seed, stopSequences, responseFormat } = settings;
  return {
    "gen_ai.request.max_tokens": maxOutputTokens,
    "gen_ai.request.temperature": temperature,
    "gen_ai.request.seed": seed,
    "gen_ai.request.stop_sequences": stopSequences && [...stopSequences],
    "gen_ai.output.type": responseFormat?.type,
  };
}

export function answerAttributes({ finishReason, response, usage }: ModelAnswer): Attributes {
  return {
    "gen_ai.response.finish_reasons": [finishReasonOf(finishReason)],
    "gen_ai.response.id": response?.id,
    "gen_ai.response.model": response?.modelId,
    ...usageAttributes(usage),
  };
}

export function usageAttributes(usage: Usage): Attributes {
  return {
    "gen_ai.usage.input_tokens": usage.inputTokens,
    "gen_ai.usage.output_tokens": usage.outputTokens,
    "gen_ai.usage.cache_read.input_tokens": usage.cacheReadTokens,
    "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteTokens,
    "gen_ai.usage.reasoning.output_tokens": usage.reasoningTokens,
    "heddle.usage.estimated": usage.estimated,
  };
}

/** Providers whose name in the conventions differs from the name in the packages of the AI SDK. */
const PROVIDERS: readonly (readonly [provider: RegExp, name: string])[] = [
  [/^(google[.-])?vertex\b/, "gcp.vertex_ai"],
  [/^google\b/, "gcp.gemini"],
  [/^(amazon-)?bedrock\b/, "aws.bedrock"],
  [/^azure/, "azure.ai.openai"],
  [/^mistral/, "mistral_ai"],
  [/^xai\b/, "x_ai"],
  [/^moonshot/, "moonshot_ai"],
];

/** The value of `gen_ai.provider.name`, such as "openai" for "openai.responses". */
function providerNameOf(model: Pick<ProviderModel, "provider" | "modelId">): string {
  return PROVIDERS.find(([provider]) => provider.test(model.provider))?.[1] ?? modelIdentity(model).provider;
}

const FINISH_REASONS: { readonly [Reason in ModelFinishReason]?: string } = {
  "content-filter": "content_filter",
  "tool-calls": "tool_call",
};

/** The finish reason, with the names of the conventions. */
function finishReasonOf(reason: ModelFinishReason): string {
  return FINISH_REASONS[reason] ?? reason;
}

/** Messages in the form of the conventions. They are JSON text, because attributes of spans cannot hold objects. */
export function inputMessages(messages: readonly Message[]): string {
  return JSON.stringify(messages.map((message) => ({ role: message.role, parts: partsOfMessage(message) })));
}

export function outputMessages({
  content,
  toolCalls,
  finishReason,
}: Pick<ModelAnswer, "content"> & Partial<Pick<ModelAnswer, "toolCalls" | "finishReason">>): string {
  const parts = partsOf(content, toolCalls);
  return JSON.stringify([
    { role: "assistant", parts, ...(finishReason && { finish_reason: finishReasonOf(finishReason) }) },
  ]);
}

/** The result of a tool, as text or as JSON text. */
export function resultContent(content: Content): string {
  return typeof content === "string" ? content : JSON.stringify(partsOf(content, []));
}

function partsOfMessage(message: Message): readonly object[] {
  if (message.role !== "tool") return partsOf(message.content, "toolCalls" in message ? message.toolCalls : []);
  const { toolCallId: id, content } = message;
  return [{ type: "tool_call_response", id, response: typeof content === "string" ? content : partsOf(content, []) }];
}

/** Calls without a part of their own are put after the parts. */
function partsOf(content: Content, calls: readonly ToolCall[] = []): readonly object[] {
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const placed = new Set(parts.flatMap((part) => (part.type === "tool_call" ? [part.id] : [])));
  const shown = parts.filter((part) => part.type !== "text" || part.text !== "").flatMap((part) => partOf(part, calls));
  return [...shown, ...calls.filter(({ id }) => !placed.has(id)).map(callOf)];
}

function partOf(part: Part, calls: readonly ToolCall[]): readonly object[] {
  switch (part.type) {
    case "text":
      return [{ type: "text", content: part.text }];
    case "thinking":
      return [{ type: "reasoning", content: part.text }];
    case "tool_call":
      return calls.filter(({ id }) => id === part.id).map(callOf);
    case "file":
      return [fileOf(part)];
    case "provider_call":
      return [serverCall(part.id, part.name, part.arguments)];
    case "provider_result": {
      const { id, name, result } = part;
      return [{ type: "server_tool_call_response", id, server_tool_call_response: { type: name, result } }];
    }
    case "source":
    case "custom": {
      const { metadata: _, ...rest } = part;
      return [rest];
    }
    default:
      return part satisfies never;
  }
}

function callOf({ id, name, arguments: given }: ToolCall): object {
  return { type: "tool_call", id, name, arguments: given };
}

function serverCall(id: string, name: string, given: JsonValue): object {
  return { type: "server_tool_call", id, name, server_tool_call: { type: name, arguments: given } };
}

/** Telemetry has no bytes of files, only the size of a file that is sent inline. */
function fileOf({ mediaType, data }: FileContentPart): object {
  const modality = /^(image|audio|video)\//.exec(mediaType)?.[1] ?? "document";
  const file = { mime_type: mediaType, modality };
  if ("url" in data && !data.url.startsWith("data:")) return { type: "uri", ...file, uri: data.url };
  if ("blob" in data) return { type: "file", ...file, file_id: data.blob };
  return { type: "inline_file", ...file, characters: "url" in data ? data.url.length : data.base64.length };
}
