import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { AnyTool } from "../../agent/definition/tool.ts";
import { type WaitingCall, waitingCalls } from "../../agent/react/agent.ts";
import type { Signal, SteerKind } from "../../agent/signal.ts";
import type { BranchOptions } from "../../lanes/branch.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { checkedInput } from "../../projection/policy/policy.ts";
import type { ExplainedEntry } from "../../projection/projection.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { HeddleError } from "../../thread/errors.ts";
import type { Content } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { Loop } from "../loop.ts";
import {
  checkAskOptions,
  checkBranchOptions,
  checkContextOperation,
  checkDecider,
  checkSenderOptions,
  checkSteerOptions,
  checkStopOptions,
  checkSummaryRange,
} from "../option-names.ts";
import type { AgentRequest, SteerAnswer } from "../request/request.ts";
import { RequestError, requestCancelled } from "../request/request-error.ts";
import type { RequestResult } from "../request/result.ts";
import type { OperationAnswer } from "../session/promised.ts";
import { answeredWith } from "../tools/result.ts";
import { ask } from "./ask.ts";
import { commandRefs, decisionOf } from "./command-refs.ts";
import { explain } from "./explain.ts";
import { factsOf } from "./given.ts";
import { findBranchPosition, modify } from "./modify.ts";
import type { AskArguments, AskOptions, Decider, SenderOptions, SteerOptions, StopOptions } from "./options.ts";
import { resultOfRequest } from "./past-request.ts";
import type { AgentServer } from "./port.ts";
import { steer } from "./steer.ts";
import { summarizeRange } from "./summarize-range.ts";

/** An agent on one thread, at work. */
export class LiveServer<Given extends AnyAgent> implements AgentServer<Given> {
  readonly #live: Loop;
  #stopped: Promise<void> | undefined;

  constructor(live: Loop) {
    this.#live = live;
  }

  get threadId(): string {
    return this.#live.options.threadId;
  }

  get request(): AgentRequest<AgentOutput<Given>> | undefined {
    return this.#live.current as AgentRequest<AgentOutput<Given>> | undefined; // its result is of the definition's output
  }

  async ask(
    content: Content,
    ...given: AskArguments<AskOptions<AgentContext<Given>>>
  ): Promise<AgentRequest<AgentOutput<Given>>> {
    this.#check();
    const [options = {}] = given as [options?: AskOptions]; // whatever the context is
    checkAskOptions(options);
    const request = await ask(this.#live, content, options);
    return request as AgentRequest<AgentOutput<Given>>; // its result is of the definition's output
  }

  async result(requestId: string): Promise<RequestResult<AgentOutput<Given>>> {
    const result = await resultOfRequest(this.#live, requestId);
    return result as RequestResult<AgentOutput<Given>>; // its result is of the definition's output
  }

  thread(): Thread {
    return this.#live.agent.thread;
  }

  explain(): readonly ExplainedEntry[] {
    return explain(this.#live.live);
  }

  waiting(): readonly WaitingCall[] {
    const { broken, agent } = this.#live.live;
    return broken === undefined ? waitingCalls(agent) : [];
  }

  async approve(toolCallId: string, options: Decider = {}): Promise<void> {
    checkDecider("approve", options);
    await this.#decide({ type: "approve", toolCallId, ...decisionOf(options) });
  }

  async deny(toolCallId: string, options: Decider = {}): Promise<void> {
    checkDecider("deny", options);
    await this.#decide({ type: "deny", toolCallId, ...decisionOf(options) });
  }

  async answer(toolCallId: string, output: unknown, options: SenderOptions = {}): Promise<void> {
    checkSenderOptions("answer", options);
    await this.#decide({ type: "answer", toolCallId, outcome: answeredWith(output), ...commandRefs(options) });
  }

  steer(content: Content, options?: SteerOptions): SteerAnswer {
    return this.#steer("steer", content, options);
  }

  inject(content: Content, options: SteerOptions & { readonly source: string }): SteerAnswer {
    const source: unknown = options?.source; // of a caller without types
    if (typeof source === "string") return this.#steer("inject", content, options);
    const message = 'inject needs { source: "..." }: who speaks. The user\'s own words are for steer.';
    throw new RequestError({ code: "invalid_options", message });
  }

  followUp(content: Content, options?: SteerOptions): SteerAnswer {
    return this.#steer("follow_up", content, options);
  }

  async cancel(requestId?: string, reason?: string, options: SenderOptions = {}): Promise<boolean> {
    checkSenderOptions("cancel", options);
    const refs = commandRefs(options);
    if (requestId !== undefined && this.#live.withdraw(requestId, requestCancelled(requestId, reason ?? CANCELLED)))
      return true;
    const request = this.#live.current;
    if (request === undefined || (requestId !== undefined && request.id !== requestId)) return false;
    await this.#live.command({
      type: "cancel",
      requestId: request.id,
      ...(reason !== undefined && { reason: reason.toWellFormed() }),
      ...refs,
    });
    await request.result.catch(() => undefined);
    return true;
  }

  async finish(requestId?: string): Promise<boolean> {
    const request = this.#live.current;
    if (request === undefined || (requestId !== undefined && request.id !== requestId)) return false;
    await this.#live.command({ type: "finish", requestId: request.id, terminationReason: "stopped" });
    await request.result.catch(() => undefined);
    return true;
  }

  modifyContext(operation: Partial<ContextOperation> & Pick<ContextOperation, "operation">): Promise<OperationAnswer> {
    this.#check();
    checkContextOperation(operation);
    return modify(this.#live, operation);
  }

  async branch(options: BranchOptions): Promise<OperationAnswer & { readonly lane: string }> {
    this.#check();
    checkBranchOptions(options);
    const { opId, lane = opId ?? this.#live.options.ports.ids("lane"), ...point } = options; // a retry names the same lane
    const operation = { type: "switch", reason: "manual", ...(await findBranchPosition(this.#live, point)) } as const;
    const answer = await this.modifyContext({ ...(opId !== undefined && { opId }), contextRef: lane, operation });
    return { ...answer, lane };
  }

  reset(): Promise<OperationAnswer> {
    const resultContext = { id: this.#live.options.ports.ids("ctx"), entries: [] };
    return this.modifyContext({ operation: { type: "replace", reason: "manual", resultContext } });
  }

  async summarize(
    range: { readonly fromSeq?: number; readonly toSeq?: number } = {},
  ): Promise<{ readonly seq: number }> {
    this.#check();
    checkSummaryRange(range);
    return summarizeRange(this.#live, range);
  }

  async setContextPolicy(policy: ContextPolicyInput): Promise<void> {
    await this.#live.setPolicy(checkedInput(policy));
  }

  setSystemPrompt(systemPrompt: NonNullable<Given["systemPrompt"]>): void {
    checkPrompt(systemPrompt);
    this.#live.systemPrompt = systemPrompt;
    if (typeof systemPrompt !== "string") return; // the open request keeps what it has, and the next brings its own
    void this.#live.change({
      agent: (agent) => ({
        ...agent,
        settings: { ...agent.settings, systemPrompt },
        flight: { ...agent.flight, systemPrompt },
      }),
    });
  }

  async registerTool(name: string, tool: AnyTool): Promise<void> {
    await this.#live.addTool(name, tool, await factsOf({ [name]: tool }, this.#live.hookLimit));
  }

  async unregisterTool(name: string): Promise<boolean> {
    return this.#live.removeTool(name);
  }

  async stop(options: StopOptions = {}): Promise<void> {
    checkStopOptions(options);
    await this.stopBecause(serverStopped(), options);
  }

  /** `why` is what later calls get. */
  stopBecause(why: HeddleError, { graceMs = GRACE_MS }: StopOptions): Promise<void> {
    this.#stopped ??= this.#live.stop(graceMs, why);
    return this.#stopped;
  }

  /** Throws when the server was stopped. */
  #check(): void {
    const { stopping } = this.#live.live;
    if (stopping !== undefined) throw stopping.why;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #steer(kind: SteerKind, content: Content, options: SteerOptions = {}): SteerAnswer {
    checkSteerOptions(METHODS[kind], options);
    const isStopped = this.#live.live.stopping !== undefined;
    return steer(this.#live, { ...options, kind, content }, isStopped);
  }

  /** A decision on a call that does not wait for one is a mistake somebody should hear of. */
  async #decide(signal: Extract<Signal, { readonly toolCallId: string }>): Promise<void> {
    this.#check();
    const { before, after } = await this.#live.command(signal);
    if (after.thread.rev > before.thread.rev) return;
    if (after.thread.rev === 0) throw threadNotFound(this.threadId); // for example deleted
    const message = `No call ${signal.toolCallId} waits for this. It was decided before, or its request has ended.`;
    throw new RequestError({ code: "not_waiting", message });
  }
}

const GRACE_MS = 30_000;
const CANCELLED = "The ask was cancelled before its turn.";

export function serverStopped(): RequestError {
  return new RequestError({ code: "server_stopped", message: "This server was stopped. Start the thread again." });
}

const METHODS = { steer: "steer", inject: "inject", follow_up: "followUp", repair: "steer" } as const;

function checkPrompt(systemPrompt: unknown): void {
  if (typeof systemPrompt === "string" || typeof systemPrompt === "function") return;
  throw new RequestError({ code: "invalid_options", message: "systemPrompt must be text or a function." });
}
