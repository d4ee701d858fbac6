import type { Entry } from "../../thread/entry.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import { lazyField } from "../../thread/lazy-field.ts";
import { type Content, contentText, type Part, type ToolCall } from "../../thread/message.ts";
import { parseStructure } from "../../thread/messages/to-messages.ts";
import type {
  RequestStep,
  StepPart,
  StepSource,
  StepToolCall,
  StepToolError,
  StepToolResult,
  StepUsage,
} from "../definition/stop-when.ts";
import type { Usage } from "../model-call.ts";
import { recordedCall, recordedUsage } from "../model-call.ts";
import type { ReactAgent } from "./agent.ts";
import type { Run } from "./state.ts";

type ToolResult = {
  readonly content: Content;
  readonly isError?: boolean;
  readonly editedArguments?: JsonValue;
};

/** An answer of the log. The results of one tool call id are in the order of the log, because a model may use an id twice. */
interface LoggedAnswer {
  readonly entry: Entry;
  readonly results: Map<string, ToolResult[]>;
}

/** The model calls of a request in the form of the AI SDK. Reads each entry of the request once. */
export function stepsOf({ thread }: ReactAgent, { requestId, askSeq }: Run): RequestStep[] {
  const answers = new Map<string, LoggedAnswer>();
  let last: LoggedAnswer | undefined;
  for (const entry of thread.filterByRef("requestId", requestId, { partial: true })) {
    if (entry.seq <= askSeq || entry.kind !== "ai_message") continue;
    const { role, toolCallId } = entry.payload as JsonObject; // every payload is a JSON object
    const { callId } = entry.refs;
    if (role === "assistant" && callId !== undefined) {
      last = { entry, results: new Map() };
      answers.set(callId, last);
    } else if (role === "tool" && typeof toolCallId === "string") {
      const { results } = (callId === undefined ? last : answers.get(callId)) ?? {};
      const result = entry.payload as unknown as ToolResult; // the agent wrote this entry
      results?.set(toolCallId, [...(results.get(toolCallId) ?? []), result]);
    }
  }
  return [...answers.values()].map(toStep);
}

function toStep({ entry, results }: LoggedAnswer, stepNumber: number): RequestStep {
  const { id, at, payload, refs } = entry;
  const { content: written, toolCalls: calls = [] } = payload as JsonObject; // every payload is a JSON object
  const parts = partsOf(written as Content, calls as readonly ToolCall[], results); // the agent wrote this entry
  const content = [...parts, ...parts.flatMap((part) => outcomeOf(part, results))];
  const call = recordedCall(entry);
  const { model = "", finishReason = "other" } = call ?? {};
  const [provider = "", ...modelId] = model.split(":");
  const toolCalls = content.filter((part) => part.type === "tool-call");
  const toolResults = content.filter((part) => part.type === "tool-result");
  // biome-ignore lint/style/noRestrictedGlobals: the time of the entry in the AI SDK's form; nothing reads the clock
  const timestamp = new Date(at);
  const reasoning = content.filter((part) => part.type === "reasoning");
  return {
    callId: `${refs.callId}`,
    stepNumber,
    model: { provider, modelId: modelId.join(":") },
    content,
    text: contentText(written as Content),
    reasoning,
    reasoningText: reasoning.length === 0 ? undefined : reasoning.map(({ text }) => text).join(""),
    files: content.flatMap((part) => (part.type === "file" ? [part.file] : [])),
    sources: content.filter((part) => part.type === "source"),
    toolCalls,
    staticToolCalls: toolCalls,
    dynamicToolCalls: [],
    toolResults,
    staticToolResults: toolResults,
    dynamicToolResults: [],
    finishReason: finishReason === "interrupted" || finishReason === "paused" ? "other" : finishReason,
    rawFinishReason: undefined,
    usage: usageOf(recordedUsage(call)),
    response: { id, timestamp, modelId: modelId.join(":"), messages: [] },
    request: {},
    warnings: undefined,
    providerMetadata: undefined,
    toolsContext: {},
    runtimeContext: {},
    experimental_context: undefined,
    functionId: undefined,
    metadata: undefined,
    performance: undefined as never, // the log has no timings
  };
}

/** The content with its calls at their positions. A call without a position comes last. */
function partsOf(
  content: Content,
  calls: readonly ToolCall[],
  results: ReadonlyMap<string, readonly ToolResult[]>,
): readonly StepPart[] {
  const parts: readonly Part[] = typeof content === "string" ? [{ type: "text", text: content }] : content;
  const unplaced = calls.map((call, index) => {
    const nth = calls.slice(0, index).filter(({ id }) => id === call.id).length;
    return { ...call, arguments: results.get(call.id)?.[nth]?.editedArguments ?? call.arguments };
  });
  const placed = parts.flatMap((part): readonly StepPart[] => {
    if (part.type !== "tool_call") return stepParts(part);
    const index = unplaced.findIndex(({ id }) => id === part.id);
    return index < 0 ? [] : unplaced.splice(index, 1).map(toStepCall);
  });
  return [...placed, ...unplaced.map(toStepCall)];
}

function stepParts(part: Exclude<Part, { type: "tool_call" }>): readonly StepPart[] {
  switch (part.type) {
    case "text":
      return part.text === "" ? [] : [{ type: "text", text: part.text }];
    case "thinking":
      return [{ type: "reasoning", text: part.text }];
    case "file":
      return "base64" in part.data ? [fileOf(part.data.base64, part.mediaType)] : [];
    case "source": {
      const { metadata: _, ...source } = part;
      return [source as JsonObject as unknown as StepSource]; // the form of the AI SDK is stored
    }
    case "custom":
      return [];
    case "provider_call":
      return [{ ...toStepCall(part), providerExecuted: true }];
    case "provider_result": {
      const call = { toolCallId: part.id, toolName: part.name, input: undefined, providerExecuted: true } as const;
      return [withResult(call, part.result, part.isError)];
    }
    default:
      return part satisfies never;
  }
}

function toStepCall({ id, name, arguments: input }: ToolCall): StepToolCall {
  return { type: "tool-call", toolCallId: id, toolName: name, input };
}

function fileOf(base64: string, mediaType: string): StepPart {
  const bytes = () => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return { type: "file", file: lazyField({ base64, mediaType }, "uint8Array", bytes) };
}

/** The result of this call, if it has one. Takes it from the list, so that the next call with this id gets the next one. */
function outcomeOf(part: StepPart, results: LoggedAnswer["results"]): readonly StepPart[] {
  if (part.type !== "tool-call" || part.providerExecuted) return [];
  const result = results.get(part.toolCallId)?.shift();
  if (result === undefined) return [];
  const { toolCallId, toolName, input } = part;
  return [withResult({ toolCallId, toolName, input }, outputOf(result.content), result.isError)];
}

function withResult(
  call: Omit<StepToolCall, "type">,
  output: unknown,
  isError: boolean | undefined,
): StepToolResult | StepToolError {
  return isError ? { type: "tool-error", ...call, error: output } : { type: "tool-result", ...call, output };
}

function outputOf(content: Content): JsonValue {
  return typeof content === "string" ? (parseStructure(content) ?? content) : (content as readonly JsonValue[]);
}

function usageOf(usage: Usage): StepUsage {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    inputTokens,
    inputTokenDetails: {
      noCacheTokens:
        inputTokens === undefined ? undefined : inputTokens - (cacheReadTokens ?? 0) - (cacheWriteTokens ?? 0),
      cacheReadTokens,
      cacheWriteTokens,
    },
    outputTokens,
    outputTokenDetails: {
      textTokens: outputTokens === undefined ? undefined : outputTokens - (reasoningTokens ?? 0),
      reasoningTokens,
    },
    totalTokens:
      inputTokens === undefined && outputTokens === undefined ? undefined : (inputTokens ?? 0) + (outputTokens ?? 0),
  };
}
