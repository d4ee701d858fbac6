import type { GuardVerdict } from "../../agent/definition/config.ts";
import type { AnyTool } from "../../agent/definition/tool.ts";
import type { ToolExec } from "../../agent/directive.ts";
import type { ToolOutcome } from "../../agent/signal.ts";
import { hookAnswer } from "../hook.ts";
import type { LiveRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import { approvalNeeded } from "../tools/approval.ts";
import { failed } from "../tools/outcome.ts";
import { runTool } from "../tools/run-tool.ts";
import { settle } from "../tools/settle.ts";
import { checkArguments } from "../tools/validate.ts";
import { lostOptions } from "./lost-options.ts";
import { hookLimitOf, mayStart, type Scene, sceneOf } from "./scene.ts";

/** Executes one call of a tool, when there is a place; its result, or what it waits for, is the next signal. */
export function toolExec(all: Scene, directive: ToolExec): void {
  const request = all.request(directive.requestId);
  if (request === undefined) return;
  const scene = sceneOf(all, request);
  const { call } = directive;
  const execute = async (): Promise<void> => {
    try {
      await scene.pool.run(
        [directive],
        (item) => executed(scene, item, request),
        () => undefined,
      );
    } catch {
      const message = `The tool ${call.name} could not be run.`;
      result(scene, directive, failed({ code: "tool_failed", message }));
    }
  };
  scene.trackTool(execute());
}

async function executed(scene: Scene, directive: ToolExec, request: LiveRequest): Promise<void> {
  const { call, callId, approved } = directive;
  if (scene.isStopping()) return;
  const lost = lostOptions(scene, request.id);
  if (lost !== undefined) {
    scene.send({ type: "fail", failure: lost });
    return result(scene, directive, failed({ ...lost, message: `The call did not run. ${lost.message}` }));
  }
  const tools = scene.tools();
  const tool = Object.hasOwn(tools, call.name) ? tools[call.name] : undefined;
  if (!(await mayStart(scene, request))) return result(scene, directive, notRun());
  if (tool !== undefined && !approved) {
    const before = await beforehand(scene, directive, tool);
    if (before === "approval") {
      return scene.send({ type: "approval_needed", callId, toolCallId: call.id, ...scene.worked() });
    }
    if (before === "answer") return scene.send({ type: "answer_needed", callId, toolCallId: call.id });
    if (before !== "run") return result(scene, directive, before);
  }
  if (tool !== undefined && tool.execute === undefined) {
    return scene.send({ type: "answer_needed", callId, toolCallId: call.id }); // approved, and for somebody outside
  }
  if (!scene.isStopping()) await run(scene, directive, request);
}

async function run(scene: Scene, directive: ToolExec, request: LiveRequest): Promise<void> {
  const { definition, ports } = scene;
  const { call, callId, iteration, requestId } = directive;
  const origin = originOf(scene, directive);
  const named = { callId, toolCallId: call.id, toolName: call.name };
  const span = scene.telemetry.tool(directive, scene);
  scene.began(call.id);
  request.emit({ kind: "tool_started", ...named, data: { arguments: call.arguments } }, iteration);
  const outcome = await span.within(() =>
    runTool(call, {
      tools: scene.tools(),
      callId,
      context: scene.scope(requestId).context,
      onError: (error, code) => scene.onError(error, { ...origin, code }),
      messages: scene.shown(callId),
      signal: request.abort.signal,
      hold: {
        isHeld: () => request.state !== "done" && scene.isHeld(),
        ensure: () => mayStart(scene, request),
      },
      ports,
      timeoutMs: definition.toolTimeoutMs,
      maxRetries: definition.toolMaxRetries,
      backoffMs: definition.toolRetryBackoffMs,
      heartbeatMs: definition.toolHeartbeatMs,
      onHeartbeat: ({ elapsedMs }) =>
        request.emit({ kind: "keepalive", ...named, data: { runningMs: elapsedMs } }, iteration),
    }),
  );
  try {
    span.ended(outcome);
  } finally {
    result(scene, directive, outcome); // whatever telemetry does, the tool has run
  }
}

type Beforehand = "run" | "approval" | "answer" | ToolOutcome;

/** What has to be settled before a call runs: its arguments, the guard's word, and whether somebody must approve. */
async function beforehand(scene: Scene, directive: ToolExec, tool: AnyTool): Promise<Beforehand> {
  const { call, requestId } = directive;
  const request = scene.request(requestId);
  const { guardTools, toolTimeoutMs: timeoutMs } = scene.definition;
  if (guardTools !== undefined || tool.execute === undefined) {
    const signal = request?.abort.signal;
    const limits = { signal, timeoutMs: tool.timeoutMs ?? timeoutMs, graceMs: 0, ports: scene.ports };
    const checked = await settle(() => checkArguments(call, tool), limits);
    if (checked.type === "value" && "refused" in checked.value) return checked.value.refused;
  }
  const verdict = await verdictOf(scene, directive, request);
  if (request?.abort.signal.aborted) return notRun();
  if (typeof verdict === "object") {
    return failed({ code: "tool_denied", message: `The call was denied and did not run: ${verdict.deny}` });
  }
  const { context } = scene.scope(requestId);
  const messages = scene.shown(directive.callId);
  const limits = {
    messages,
    timeoutMs,
    ports: scene.ports,
    onError: (error: unknown) => scene.onError(error, { ...originOf(scene, directive), code: "approval_failed" }),
    ...(request && { signal: request.abort.signal }),
  };
  if (verdict === "ask" || (await approvalNeeded(call, tool, context, limits))) return "approval";
  return tool.execute === undefined ? "answer" : "run";
}

const GUARD = { name: "guardTools", code: "tool_denied" };

function isLate(error: unknown): boolean {
  return RequestError.isInstance(error) && error.code === GUARD.code;
}

/** Only a clear "allow" lets a call run, and only in time. */
async function verdictOf(scene: Scene, directive: ToolExec, request: LiveRequest | undefined): Promise<GuardVerdict> {
  const { call, requestId } = directive;
  const { guardTools } = scene.definition;
  if (guardTools === undefined || request === undefined) return "allow";
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

function notRun(): ToolOutcome {
  return failed({ code: "tool_aborted", message: "The request was cancelled before the call ran." });
}

function result(scene: Scene, { callId, call }: ToolExec, { content, isError, partial, details }: ToolOutcome): void {
  const outcome = { content, isError, ...(partial && { partial }), ...(details !== undefined && { details }) };
  scene.send({ type: "tool_result", callId, toolCallId: call.id, outcome, ...scene.worked() });
}
