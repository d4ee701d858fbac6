import type { GuardVerdict } from "../../agent/definition/config.ts";
import type { AnyTool, ToolDataPart } from "../../agent/definition/tool.ts";
import type { ToolExec } from "../../agent/directive.ts";
import { interruptedOutcome } from "../../agent/react/finish.ts";
import { mayBeDenied } from "../../agent/react/permission-rules.ts";
import type { CallWork, Signal, ToolOutcome } from "../../agent/signal.ts";
import { ignoreRejection } from "../../thread/errors.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { WrittenPart } from "../../thread/kinds.ts";
import type { ToolCall } from "../../thread/message.ts";
import type { LiveRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import { hookAnswer } from "../time-limits.ts";
import { approvalNeeded } from "../tools/approval.ts";
import { receiverOf } from "../tools/handoff.ts";
import { runLimited } from "../tools/limits.ts";
import { abortedAnswer, errorAnswer, withheldAnswer, withPartialOutput } from "../tools/outcome.ts";
import { shownContent } from "../tools/result.ts";
import { runTool } from "../tools/run-tool.ts";
import { checkArguments } from "../tools/validate.ts";
import { delegate } from "./delegate.ts";
import { hookLimitOf, makeMissing, mayStart, type Scene } from "./scene.ts";

/** The result of a tool call; undefined when it was not started because the process stops. */
type CallResult = { readonly signal: Extract<Signal, { readonly toolCallId: string }> } | undefined;

/** Runs one tool call when the pool has a free place. Its result, or its wait, is the next signal. */
export async function runToolCall(scene: Scene, directive: ToolExec, request: LiveRequest): Promise<CallResult> {
  const { call } = directive;
  const inPool = (): Promise<CallResult> => scene.pool.run(() => executed(scene, directive, request));
  const tool = toolOf(scene, call);
  try {
    if (!tool?.exclusive) return await inPool();
    // A call that waits for an exclusive key does not occupy a place in the pool.
    return await scene.pool.exclusive.run(() => exclusiveKey(scene, directive, tool, request), inPool);
  } catch (error) {
    const code = "tool_failed";
    scene.onError(error, { ...originOf(scene, directive), code });
    return result(scene, directive, errorAnswer({ code, message: `The tool ${call.name} could not be run.` }));
  }
}

function toolOf(scene: Scene, { name }: ToolCall): AnyTool | undefined {
  const tools = scene.tools();
  return Object.hasOwn(tools, name) ? tools[name] : undefined;
}

/** Undefined for invalid arguments, because such a call does not run. */
async function exclusiveKey(
  scene: Scene,
  directive: ToolExec,
  tool: AnyTool,
  request: LiveRequest,
): Promise<string | undefined> {
  const { call } = directive;
  const { exclusive } = tool;
  const own = `true ${call.name}`;
  if (typeof exclusive !== "function") return own;
  const checked = await checkedArguments(scene, call, tool, request);
  if (checked.type !== "value" || "refused" in checked.value) return undefined;
  try {
    const key: unknown = exclusive(checked.value.input as never); // typed by its schema
    if (key === undefined) return undefined;
    if (typeof key === "string") return `key ${key}`;
    ignoreRejection(key);
    throw new TypeError("`exclusive` must return a text or undefined, synchronously.");
  } catch (error) {
    scene.onError(error, { ...originOf(scene, directive), code: "tool_failed" });
    return own;
  }
}

function checkedArguments({ definition, ports }: Scene, call: ToolCall, tool: AnyTool, { abort }: LiveRequest) {
  const timeoutMs = tool.timeoutMs ?? definition.toolTimeoutMs;
  return runLimited(() => checkArguments(call, tool), { signal: abort.signal, timeoutMs, graceMs: 0, ports });
}

async function executed(scene: Scene, directive: ToolExec, request: LiveRequest): Promise<CallResult> {
  const { call, callId, approved, edited } = directive;
  if (scene.isStopping() || scene.isClosed(directive) === true) return undefined;
  const { lost } = await makeMissing(scene, request.id);
  if (lost !== undefined) {
    scene.fail(lost);
    return result(scene, directive, errorAnswer({ ...lost, message: `The call did not run. ${lost.message}` }));
  }
  const tool = toolOf(scene, call);
  if (!(await mayStart(scene, request))) return result(scene, directive, notRun(directive));
  const waits = { callId, toolCallId: call.id };
  if (tool === undefined && (directive.answered ?? directive.again)) {
    const outcome = interruptedOutcome(directive.answered?.answer);
    return { signal: { type: "tool_result", ...waits, isGone: true, outcome, ...scene.worked() } };
  }
  if (tool !== undefined && !approved) {
    const before = await beforehand(scene, directive, tool, request);
    if (before === "approval" || before === "guard") {
      const guard = before === "guard" ? { guard: true as const } : {};
      return { signal: { type: "approval_needed", ...waits, ...guard, ...scene.worked() } };
    }
    if (before === "answer") return { signal: { type: "answer_needed", ...waits } };
    if (before !== "run") return result(scene, directive, before);
  }
  const denied = edited && denialOf(await verdictOf(scene, directive, request));
  if (denied) return result(scene, directive, denied);
  // The call is allowed, and is answered from outside.
  if (tool !== undefined && tool.execute === undefined) return { signal: { type: "answer_needed", ...waits } };
  const receiver = receiverOf(tool);
  if (receiver !== undefined && !scene.handOff?.serves(receiver.name)) {
    return result(scene, directive, cannotHandOver(scene, receiver.name));
  }
  // A steer may skip it meanwhile. Nothing comes between the last look and the start.
  while (!scene.isStopping() && scene.isClosed(directive) === "soon") await scene.rest();
  return scene.isStopping() || scene.isClosed(directive) ? undefined : run(scene, directive, request);
}

async function run(scene: Scene, directive: ToolExec, request: LiveRequest): Promise<CallResult> {
  const { definition, ports } = scene;
  const { call, callId, iteration, requestId } = directive;
  const origin = originOf(scene, directive);
  const named = { callId, toolCallId: call.id, toolName: call.name };
  const span = scene.telemetry.tool(directive, scene);
  scene.began(call.id);
  const data = definition.redact ? {} : { arguments: call.arguments };
  request.emit({ kind: "tool_started", ...named, data }, iteration);
  const page = writtenParts();
  const outcome = await span.within(() =>
    runTool(call, {
      tools: scene.tools(),
      callId,
      answered: directive.answered,
      again: directive.again,
      context: scene.scope(requestId).context,
      onError: (error, code) => scene.onError(error, { ...origin, code }),
      messages: scene.shown(callId),
      signal: request.abort.signal,
      hold: {
        isHeld: () => request.state !== "done" && scene.isHeld(),
        ensure: () => mayStart(scene, request),
        doubt: scene.doubtHeld,
        stopping: scene.stopping,
      },
      ports,
      timeoutMs: definition.toolTimeoutMs,
      maxRetries: definition.toolMaxRetries,
      backoffMs: definition.toolRetryBackoffMs,
      heartbeatMs: definition.toolHeartbeatMs,
      onOutput: (output) => request.emit({ kind: "tool_output", ...named, data: { output } }, iteration),
      onData: (data) => {
        request.emit({ kind: "tool_data", ...named, data }, iteration);
        page.add(data, request.eventSeq);
      },
      onHeartbeat: ({ elapsedMs }) =>
        request.emit({ kind: "keepalive", ...named, data: { runningMs: elapsedMs } }, iteration),
    }),
  );
  const isLost = outcome.attempts > 0 && (await hasLost(scene, request));
  try {
    span.ended(isLost ? { failure: LOST, ...outcome } : outcome);
  } catch {
    // the tool has run, even if telemetry throws
  }
  // A repeatable tool is run again.
  if (isLost && toolOf(scene, call)?.repeatable !== true) {
    const what = `the result of the call ${call.id} of the tool ${call.name} is dropped`;
    scene.warn(`Thread ${scene.threadId}, request ${requestId}: ${what}. The tool may have run. ${LOST.message}`);
  }
  const { question, child, failure, partial } = outcome;
  const mayRetry = failure?.retryable === true || partial === "timed_out";
  // The next process runs it again.
  if (mayRetry && scene.stopping().aborted && toolOf(scene, call)?.repeatable === true) return undefined;
  const work = { ...scene.worked(), written: page.list() };
  if (child !== undefined && outcome.partial === undefined) {
    const asked = await delegate(scene, directive, toolOf(scene, call), child, request.abort.signal);
    return "signal" in asked ? asked : result(scene, directive, asked, work);
  }
  if (question !== undefined && outcome.partial === undefined) {
    return { signal: { type: "question_asked", callId, toolCallId: call.id, question, ...work } };
  }
  const shown = await shownOutcome(scene, directive, request, outcome);
  const { until } = outcome;
  const receiver = receiverOf(toolOf(scene, call));
  if (receiver !== undefined && !shown.isError && outcome.partial === undefined)
    return result(scene, directive, { ...shown, handoff: receiver.name }, work);
  if (until === undefined || outcome.partial !== undefined) return result(scene, directive, shown, work);
  return { signal: { type: "sleep_started", callId, toolCallId: call.id, until, outcome: shown, ...work } };
}

/** Whether another process has the request by now, so that the log does not get the result. */
async function hasLost(scene: Scene, request: LiveRequest): Promise<boolean> {
  const isHeld = scene.isHeld() || (await scene.ensureHeld().catch(() => false));
  return !isHeld || request.state === "done";
}

const LOST = { code: "request_suspended", message: "This process no longer runs the request." };

/** The parts of one call are stored up to this size. Further ones are shown only. */
const MAX_WRITTEN_BYTES = 8 * 1024 * 1024;

/** Collects the parts that a tool writes for the page, as the page keeps them. */
function writtenParts() {
  const kept: { readonly part: WrittenPart; readonly bytes: number }[] = [];
  return {
    list: (): readonly WrittenPart[] => kept.map(({ part }) => part),
    add({ type, id, data, transient }: ToolDataPart, event: number): void {
      if (transient) return;
      const at = id === undefined ? -1 : kept.findIndex(({ part }) => part.type === type && part.id === id);
      const before = kept[at];
      const first = before && { first: before.part.first ?? before.part.event };
      const part = { type, ...(id !== undefined && { id }), data: data as JsonValue, event, ...first }; // `write` made JSON of it
      const bytes = JSON.stringify(part).length;
      const others = kept.reduce((sum, one) => (one === before ? sum : sum + one.bytes), 0);
      if (others + bytes > MAX_WRITTEN_BYTES) return;
      kept.splice(before === undefined ? kept.length : at, 1, { part, bytes });
    },
  };
}

const AFTER = { name: "afterToolCall", code: "after_tool_call_failed" };

/**
 * The result as `afterToolCall` changes it. Where the hook fails the model is not shown the content, because it may hold what was to
 * be hidden. A result without details keeps it as its details, so that it is not lost.
 */
async function shownOutcome(
  scene: Scene,
  directive: ToolExec,
  request: LiveRequest,
  { content, isError, partial, details }: ToolOutcome,
): Promise<ToolOutcome> {
  const { afterToolCall } = scene.definition;
  const more = { ...(partial && { partial }), ...(details !== undefined && { details }) };
  const outcome: ToolOutcome = { content, isError, ...more };
  if (afterToolCall === undefined) return withPartialOutput(outcome);
  try {
    const { call, requestId } = directive;
    const limit = hookLimitOf(scene, request);
    const shown = await hookAnswer(limit, AFTER, () => afterToolCall(call, outcome, scene.scope(requestId)));
    return withPartialOutput({ ...shownContent(shown, outcome), ...more });
  } catch (error) {
    if (!request.abort.signal.aborted) scene.onError(error, { ...originOf(scene, directive), code: AFTER.code });
    const kept = { details: content as JsonValue, ...more }; // text or parts, which are JSON
    return { ...withheldAnswer(directive.call.name), ...kept };
  }
}

/** "guard": the guard asks for an approval. */
type Beforehand = "run" | "approval" | "guard" | "answer" | ToolOutcome;

/** Checks a call before it runs: its arguments, the guard's verdict, and whether a person must approve. */
async function beforehand(scene: Scene, directive: ToolExec, tool: AnyTool, request: LiveRequest): Promise<Beforehand> {
  const { call, requestId } = directive;
  const { guardTools, toolTimeoutMs: timeoutMs } = scene.definition;
  if (guardTools !== undefined || tool.execute === undefined) {
    const checked = await checkedArguments(scene, call, tool, request);
    if (checked.type === "value" && "refused" in checked.value) return checked.value.refused;
  }
  const verdict = await verdictOf(scene, directive, request);
  if (request.abort.signal.aborted) return notRun(directive);
  const denied = denialOf(verdict);
  if (denied !== undefined) return denied;
  if (verdict === "ask") return "guard";
  // The agent denies the call by its rule, or asks. A rule that allows calls is read only for calls that need an approval.
  if (mayBeDenied(scene.agent(), call)) return "approval";
  const { context } = scene.scope(requestId);
  const messages = scene.shown(directive.callId);
  const limits = {
    messages,
    timeoutMs,
    ports: scene.ports,
    onError: (error: unknown) => scene.onError(error, { ...originOf(scene, directive), code: "approval_failed" }),
    signal: request.abort.signal,
  };
  if (await approvalNeeded(call, tool, context, limits)) return "approval";
  return tool.execute === undefined ? "answer" : "run";
}

function denialOf(verdict: GuardVerdict): ToolOutcome | undefined {
  if (typeof verdict !== "object") return undefined;
  return errorAnswer({ code: "tool_denied", message: `The call was denied and did not run: ${verdict.deny}` });
}

const GUARD = { name: "guardTools", code: "tool_denied" };

function isLate(error: unknown): boolean {
  return RequestError.isInstance(error) && error.code === GUARD.code;
}

/** A call runs only if the guard returns "allow" within its time limit. */
async function verdictOf(scene: Scene, directive: ToolExec, request: LiveRequest): Promise<GuardVerdict> {
  const { call, requestId } = directive;
  const { guardTools } = scene.definition;
  if (guardTools === undefined) return "allow";
  try {
    const limit = hookLimitOf(scene, request);
    const verdict = await hookAnswer(limit, GUARD, () => guardTools(call, scene.scope(requestId)));
    if (verdict === "allow" || verdict === "ask") return verdict;
    return { deny: typeof verdict?.deny === "string" ? verdict.deny : "the guard did not allow it." };
  } catch (error) {
    if (!request.abort.signal.aborted) scene.onError(error, { ...originOf(scene, directive), code: "tool_denied" });
    return { deny: isLate(error) ? "the guard did not answer in time." : "the guard failed." };
  }
}

function originOf({ threadId }: Scene, { requestId, call }: ToolExec) {
  return { threadId, requestId, toolName: call.name, toolCallId: call.id };
}

function cannotHandOver({ handOff }: Scene, name: string): ToolOutcome {
  const [code, why] =
    handOff === undefined
      ? ["agent_tool_needs_host", "needs an AgentHost"]
      : ["unknown_agent", "is to one that this host serves"];
  return errorAnswer({ code, message: `The conversation cannot be handed over to ${name}: a handoff ${why}.` });
}

function notRun({ call, again }: ToolExec): ToolOutcome {
  if (again) return abortedAnswer(call.name, true);
  return errorAnswer({ code: "tool_aborted", message: "The request was cancelled before the call ran." });
}

function result(
  scene: Scene,
  { callId, call }: ToolExec,
  { content, isError, partial, details, handoff }: ToolOutcome,
  work: CallWork = scene.worked(),
): NonNullable<CallResult> {
  const more = { ...(details !== undefined && { details }), ...(handoff !== undefined && { handoff }) };
  const outcome = { content, isError, ...(partial && { partial }), ...more };
  return { signal: { type: "tool_result", callId, toolCallId: call.id, outcome, ...work } };
}
