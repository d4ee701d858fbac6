import type { ProviderModel } from "../../agent/definition/language-model.ts";
import type { PreparedStep, ToolCallRepair } from "../../agent/definition/prepare.ts";
import type { LlmStream } from "../../agent/directive.ts";
import type { ModelAnswer } from "../../agent/model-call.ts";
import { byProvider } from "../../agent/react/call-context.ts";
import { exchangeOf } from "../../agent/react/tools.ts";
import type { Failure } from "../../agent/signal.ts";
import { summaryText } from "../../projection/render/leading-messages.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { contentText, type Message, type ToolCall, type ToolSpec } from "../../thread/message.ts";
import { findKnownModels } from "../model/find-models.ts";
import type { LiveRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import { hookAnswer } from "../time-limits.ts";
import { checkArguments } from "../tools/validate.ts";
import { hookLimitOf, type Scene } from "./scene.ts";

/** The parts of a call that `prepareStep` has replaced. */
interface Prepared {
  readonly model?: ProviderModel;
  readonly messages?: readonly Message[];
  readonly tools?: readonly ToolSpec[];
  readonly settings?: JsonObject;
}

/** A step that was prepared, and for which model of the request. */
interface LastStep {
  readonly callId: string;
  readonly modelIndex: number;
  readonly step: PreparedStep | undefined;
}

/** The last step of a request. A retry of its call is the same step. */
const LAST = new WeakMap<LiveRequest, LastStep>();

/** The changes of `prepareStep` to a call. Undefined: none. */
export async function prepareStep(
  scene: Scene,
  directive: LlmStream,
  request: LiveRequest,
): Promise<Prepared | undefined> {
  const { definition, agent } = scene;
  const { callId, modelIndex = 0, requestId, messages } = directive;
  const { run } = agent().state;
  const model = scene.transient(request.id).models[modelIndex];
  if (definition.prepareStep === undefined || run === undefined || model === undefined) return undefined;
  const limit = hookLimitOf(scene, request);
  const last = LAST.get(request);
  if (last?.callId === callId) {
    // The model that the step has chosen has failed: the next one of the request is called.
    const { step } = last;
    const isSame = last.modelIndex === modelIndex;
    return step && preparedOf(scene, directive, model, isSame ? step : { ...step, model: undefined }, limit);
  }
  const { steps } = exchangeOf(agent(), run);
  const given = { ...scene.scope(requestId), steps, stepNumber: run.iteration, model, messages };
  try {
    const answer: unknown = await hookAnswer(limit, PREPARE, () => definition.prepareStep?.(given));
    const isNone = answer === undefined || answer === null;
    if (!isNone && !isPlainObject(answer)) throw new TypeError("prepareStep returned no object.");
    const step = isNone ? undefined : (answer as PreparedStep); // the formatters check it
    LAST.set(request, { callId, modelIndex, step });
    return step && (await preparedOf(scene, directive, model, step, limit));
  } catch (cause) {
    if (request.abort.signal.aborted || RequestError.isInstance(cause)) throw cause;
    throw new RequestError({ code: PREPARE.code, message: "prepareStep threw an error, or returned no step.", cause });
  }
}

const PREPARE = { name: "prepareStep", code: "prepare_step_failed" };

async function preparedOf(
  scene: Scene,
  { messages, toolSpec, settings }: LlmStream,
  own: ProviderModel,
  { model, toolChoice, activeTools, system, messages: list = messages, providerOptions }: PreparedStep,
  hookLimit: ReturnType<typeof hookLimitOf>,
): Promise<Prepared> {
  const [found = own] =
    model === undefined ? [] : await findKnownModels({ options: { ...scene, warnOnce: scene.warn }, hookLimit }, model);
  const choice =
    isPlainObject(toolChoice) && "tool" in toolChoice ? { type: "tool", toolName: toolChoice["tool"] } : toolChoice;
  const set = {
    ...settings,
    ...(choice !== undefined && { toolChoice: choice as JsonValue }), // a text, or a tool by name
    ...(providerOptions !== undefined && { providerOptions: byProvider(settings["providerOptions"], providerOptions) }),
  };
  return {
    ...(found !== own && { model: found }),
    messages: withSystem(list, system),
    ...(activeTools !== undefined && { tools: toolSpec.filter(({ name }) => activeTools.includes(name)) }),
    settings: set,
  };
}

const SUMMARY = summaryText("");

/** The summary of a conversation is a system message too, and stays. */
function withSystem(messages: readonly Message[], system: string | undefined): readonly Message[] {
  if (system === undefined) return messages;
  const [first] = messages;
  const hasPrompt = first?.role === "system" && !contentText(first.content).startsWith(SUMMARY);
  return [{ role: "system", content: system }, ...(hasPrompt ? messages.slice(1) : messages)];
}

const REPAIR = { name: "repairToolCall", code: "tool_repair_failed" };

/** The answer with repaired calls, and those calls as the model wrote them. */
export async function repairCalls(
  scene: Scene,
  request: LiveRequest,
  { messages, toolSpec }: { readonly messages: readonly Message[]; readonly toolSpec: readonly ToolSpec[] },
  answer: ModelAnswer,
): Promise<ModelAnswer & { readonly repaired?: readonly ToolCall[] }> {
  const { repairToolCall } = scene.definition;
  if (repairToolCall === undefined || answer.finishReason === "length") return answer;
  const limit = hookLimitOf(scene, request);
  const repairOf = async (call: ToolCall): Promise<ToolCall> => {
    try {
      const error = await hookAnswer(limit, REPAIR, () => faultOf(scene, call, toolSpec));
      if (error === undefined) return call;
      const { id: toolCallId, name: toolName, arguments: args } = call;
      const input = typeof args === "string" ? args : JSON.stringify(args);
      const repair: ToolCallRepair = {
        toolCall: { type: "tool-call", toolCallId, toolName, input },
        tools: scene.tools(),
        inputSchema: async (tool) => toolSpec.find(({ name }) => name === tool.toolName)?.inputSchema ?? {},
        error,
        messages,
      };
      const repaired = await hookAnswer(limit, REPAIR, () => repairToolCall(repair));
      return repaired ? { ...call, name: String(repaired.toolName), arguments: inputOf(repaired.input) } : call;
    } catch (error) {
      const origin = { code: REPAIR.code, threadId: scene.threadId, requestId: request.id, toolName: call.name };
      if (!request.abort.signal.aborted) scene.onError(error, origin);
      return call; // the model gets the error of its call
    }
  };
  const toolCalls = await Promise.all(answer.toolCalls.map(repairOf));
  const repaired = answer.toolCalls.filter((call, at) => toolCalls[at] !== call);
  return repaired.length === 0 ? answer : { ...answer, toolCalls, repaired };
}

/** Why a call cannot run; undefined when it can. */
async function faultOf(scene: Scene, call: ToolCall, shown: readonly ToolSpec[]): Promise<Failure | undefined> {
  const { [call.name]: tool } = scene.tools();
  if (tool === undefined || !shown.some(({ name }) => name === call.name)) {
    return { code: "tool_unknown", message: `There is no tool ${call.name}.` };
  }
  const check = await checkArguments(call, tool);
  return "refused" in check ? check.refused.failure : undefined;
}

function inputOf(input: unknown): JsonValue {
  try {
    return JSON.parse(String(input)) as JsonValue; // JSON
  } catch {
    return String(input).toWellFormed();
  }
}
