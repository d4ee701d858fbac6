import { checkToolName } from "../../agent/definition/checks.ts";
import type { AgentContext, AgentOutput, AnyAgent, InferOutput } from "../../agent/definition/config.ts";
import type { InputSchema } from "../../agent/definition/schema.ts";
import type { AnyTool } from "../../agent/definition/tool.ts";
import type { Usage } from "../../agent/model-call.ts";
import { type WaitingCall, waitingCalls } from "../../agent/react/agent.ts";
import { modeFailure } from "../../agent/react/call-context.ts";
import { rulesOf } from "../../agent/react/permission-rules.ts";
import type { Signal, SteerKind } from "../../agent/signal.ts";
import type { BranchOptions } from "../../lanes/branch.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import { type PermissionRule, toolSetting } from "../../lanes/setting.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { checkedInput } from "../../projection/policy/policy.ts";
import type { ExplainedEntry, ProjectionMeta } from "../../projection/projection.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { Setting } from "../../thread/kinds.ts";
import type { Content, ToolSpec, UserMessage } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { RemoteCall } from "../live/live.ts";
import { GRACE_MS } from "../live/stopping.ts";
import type { Loop } from "../loop.ts";
import { findModels } from "../model/find-models.ts";
import {
  checkAnswer,
  checkAskOptions,
  checkBranchOptions,
  checkCancelRequest,
  checkContextOperation,
  checkCutOptions,
  checkDecider,
  checkResultOptions,
  checkRevokeOptions,
  checkServerOptions,
  checkSettingOptions,
  checkSteerOptions,
  checkStopOptions,
  checkSummarizeOptions,
  checkTexts,
} from "../option-names.ts";
import type { AgentRequest, SteerAnswer } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import type { RequestResult } from "../request/result.ts";
import { checkEdited } from "../tools/approval.ts";
import { outcomeOf } from "../tools/result.ts";
import { questionAnswer } from "../tools/validate.ts";
import { ask, continueRequest } from "./ask.ts";
import { cancel, finish } from "./cancel.ts";
import { decisionOf, rememberOf } from "./command-refs.ts";
import { explain, view } from "./explain.ts";
import { type CutAnswer, cutAnswer, findBranchPosition, modify, type OperationAnswer, switchBranch } from "./modify.ts";
import { notWaiting } from "./not-waiting.ts";
import type {
  AnswerOptions,
  ApproveOptions,
  AskArguments,
  AskOptions,
  AskOutput,
  CancelRequestOptions,
  CommandChange,
  CutOptions,
  DecideOptions,
  Decider,
  InjectOptions,
  ResultOptions,
  ServerOptions,
  SettingOptions,
  SteerOptions,
  StopOptions,
} from "./options.ts";
import { resultOfRequest } from "./past-request.ts";
import { amendCommand, type PendingCommand, pendingCommands, rereadInbox, withdrawCommand } from "./pending.ts";
import { performCall } from "./remote-call.ts";
import { factsOf } from "./request-values.ts";
import { portableModel, portablePrompt, revokeRule, set } from "./set.ts";
import { type StartHooks, serverStopped, startLoop } from "./start.ts";
import { steer } from "./steer.ts";
import { type SummarizeOptions, summarizeRange } from "./summarize-range.ts";
import { type ThreadUsage, usageOfThread } from "./thread-usage.ts";

/**
 * An agent on one thread. It holds the thread as long as it runs, so that no other process runs it.
 *
 * @example
 * const agent = defineAgent({ model: scriptedModel(["4"]) });
 * const server = await AgentServer.start({ agent, store: memoryStore() });
 * const request = await server.ask("What's 2+2?");
 * const { text } = await request.result; // "4"
 * await server.stop();
 */
export class AgentServer<Agent extends AnyAgent = AnyAgent> implements AsyncDisposable {
  readonly #live: Loop;

  private constructor(live: Loop) {
    this.#live = live;
  }

  /**
   * Claims the thread and starts the agent on it. A request that a crash has interrupted is resumed, or closed, as the
   * agent's `recover` says. A thread that another process holds is a ThreadHeldError.
   */
  static async start<Agent extends AnyAgent>(options: ServerOptions<Agent>): Promise<AgentServer<Agent>> {
    checkServerOptions(options);
    return AgentServer.open(options);
  }

  /** @internal For hosts and runs, whose options were checked. The hooks are called during the start. */
  static async open<Agent extends AnyAgent>(
    options: ServerOptions<Agent>,
    hooks: StartHooks = {},
  ): Promise<AgentServer<Agent>> {
    const started = Promise.withResolvers<readonly [AgentServer<Agent>, Loop]>();
    const { answerCall = (_call, perform) => perform() } = hooks;
    const perform = async (call: RemoteCall) => performCall(...(await started.promise), call);
    const loop = await startLoop(options, hooks, (call) => answerCall(call, () => perform(call)));
    const server = new AgentServer<Agent>(loop);
    started.resolve([server, loop]);
    return server;
  }

  get threadId(): string {
    return this.#live.options.threadId;
  }

  /** The request that runs or waits now, also one that was resumed after a crash. */
  get request(): AgentRequest<AgentOutput<Agent>> | undefined {
    return this.#live.current as AgentRequest<AgentOutput<Agent>> | undefined; // the result has the output type of the definition
  }

  /**
   * Asks. When this resolves the ask is durable and the model call has begun; with `at`, it begins at that time. An ask that
   * is refused is a RequestError
   * (`busy`, `empty_ask`, `unknown_tool`, `pending_overflow`, `not_accepted`), and the thread is unchanged.
   */
  async ask<const Schema extends InputSchema>(
    content: Content | UserMessage,
    options: AskOptions<AgentContext<Agent>> & AskOutput<Schema>,
  ): Promise<AgentRequest<InferOutput<Schema>>>;
  async ask(
    content: Content | UserMessage,
    ...given: AskArguments<AskOptions<AgentContext<Agent>>>
  ): Promise<AgentRequest<AgentOutput<Agent>>>;
  async ask(
    content: Content | UserMessage,
    ...given: AskArguments<AskOptions<AgentContext<Agent>>>
  ): Promise<AgentRequest<AgentOutput<Agent>>> {
    this.#check();
    const [options = {}] = given as [options?: AskOptions]; // the type of the context does not matter here
    checkAskOptions(options);
    const request = await ask(this.#live, content, options);
    return request as AgentRequest<AgentOutput<Agent>>; // the result has the output type of the definition
  }

  /**
   * Continues the last request after a failure, a cancel or a limit: a new request with the same ask and its results,
   * without another message of the user. Its options are those of the ask, replaced by the given ones. Refused as
   * `request_not_found`, `request_running`, `request_completed` or `request_superseded`.
   */
  async continueRequest(
    requestId: string,
    options: Partial<AskOptions<AgentContext<Agent>>> = {},
  ): Promise<AgentRequest<AgentOutput<Agent>>> {
    this.#check();
    checkAskOptions(options);
    const request = await continueRequest(this.#live, requestId, options as AskOptions); // the type of the context does not matter here
    return request as AgentRequest<AgentOutput<Agent>>; // the result has the output type of the definition
  }

  /**
   * The result of a request, also of one that ended long ago or in another process. Waits for one that runs. Rejects as its
   * own `result` does, as an ask that ended in the queue did, and with `request_waiting`, `request_not_found` or `result_timeout`.
   */
  async result(requestId: string, options: ResultOptions = {}): Promise<RequestResult<AgentOutput<Agent>>> {
    checkResultOptions(options);
    const result = await resultOfRequest(this.#live, requestId, options);
    return result as RequestResult<AgentOutput<Agent>>; // the result has the output type of the definition
  }

  /** The thread as it is now. Of a long one only the end: query all of it with `store.read(threadId, { kinds, refs })`. */
  async thread(): Promise<Thread> {
    return this.#live.agent.thread;
  }

  /** The status of every entry in the view of the last model call. Before the first call: in the view that it would have. */
  async explain(): Promise<readonly ExplainedEntry[]> {
    return explain(this.#live, this.#live.live.lastCall);
  }

  /**
   * Facts about the context that the next call would have: whether it is cut, needs a summary, and its budget. No model
   * or summarizer is called.
   */
  async view(): Promise<ProjectionMeta> {
    return view(this.#live);
  }

  /** The usage of all requests of the thread, with the cost by `limits.costUsd` of the agent. */
  async usage(): Promise<ThreadUsage> {
    const { store, threadId, definition } = this.#live.options;
    return usageOfThread(store, threadId, definition);
  }

  /** The calls that wait for a decision or a result from outside. */
  async waiting(): Promise<readonly WaitingCall[]> {
    const { broken, agent } = this.#live.live;
    return broken === undefined ? waitingCalls(agent) : [];
  }

  /**
   * Lets a call run that waits for approval, with other `arguments` if they are given (`tool_bad_arguments`). The decision is
   * durable when this resolves.
   */
  async approve(toolCallId: string, options: ApproveOptions = {}): Promise<void> {
    checkDecider("approve", toolCallId, options);
    const { arguments: given, remember, ...decider } = options;
    const decision = { ...decisionOf(decider), ...rememberOf({ remember }, this.#live.options.ports) };
    const edited = given === undefined ? undefined : await this.#edited(toolCallId, given);
    await this.#decide({
      type: "approve",
      toolCallId,
      ...decision,
      ...(edited !== undefined && { editedArguments: edited }),
    });
  }

  /** Refuses a call that waits for approval. The model is shown the reason. */
  async deny(toolCallId: string, options: DecideOptions = {}): Promise<void> {
    checkDecider("deny", toolCallId, options);
    const { remember, ...decider } = options;
    const rule = rememberOf({ remember }, this.#live.options.ports);
    await this.#decide({ type: "deny", toolCallId, ...decisionOf(decider), ...rule });
  }

  /** The permission rules that hold for the open request, else for the active lane. `approve` and `deny` make them. */
  async rules(): Promise<readonly PermissionRule[]> {
    return rulesOf(this.#live.agent);
  }

  /** Revokes a rule, by an entry of the log. False when no rule has this id. */
  async revokeRule(id: string, options: Decider = {}): Promise<boolean> {
    this.#check();
    checkRevokeOptions(options);
    return revokeRule(this.#live, id, options);
  }

  /**
   * The result of a call of a tool without `execute`: anything that `execute` may return, also `fail(error)`, except a `suspend` or
   * `sleep`. Or the answer to the question of a tool, which resumes its call; one that its `answerSchema` refuses is `invalid_answer`.
   */
  async answer(toolCallId: string, output: unknown, options: AnswerOptions = {}): Promise<void> {
    checkAnswer(toolCallId, options);
    const asked = (await this.waiting()).find((call) => call.toolCallId === toolCallId && "question" in call);
    if (asked !== undefined) {
      const { tools, hookLimit } = this.#live;
      const answer = await questionAnswer(tools, asked.name, output, hookLimit);
      return this.#decide({ type: "answer_question", toolCallId, answer, ...decisionOf(options) });
    }
    await this.#decide({ type: "answer", toolCallId, outcome: outcomeOf(output), ...decisionOf(options) });
  }

  /**
   * Adds a message of the user to the open request, before its next model call. When this resolves, the message is durable, or
   * it was refused. With `skip`, calls of the open answer that have not begun, or that wait, get the result `skipped`.
   */
  steer(content: Content, options?: SteerOptions & { readonly skip?: boolean }): Promise<SteerAnswer> {
    return this.#steer("steer", content, options);
  }

  /** Adds a message that is not the user's, such as an alert. The log has its `source`. */
  async inject(content: Content, options: InjectOptions): Promise<SteerAnswer> {
    const source: unknown = options?.source; // callers without types may omit it
    if (typeof source === "string") return this.#steer("inject", content, options);
    const message = 'inject needs { source: "..." }: who speaks. The user\'s own words are for steer.';
    throw new RequestError({ code: "invalid_options", message });
  }

  /** Adds a message that is delivered when the request would end. The request then continues. */
  followUp(content: Content, options?: SteerOptions): Promise<SteerAnswer> {
    return this.#steer("follow_up", content, options);
  }

  /**
   * The waiting asks, messages and context operations, in order. They are rows in the inbox of the thread, so any
   * process may change them.
   */
  pending(): Promise<readonly PendingCommand[]> {
    return pendingCommands(this.#live.options);
  }

  /** Replaces the content of a waiting ask or message, or with `{ at }` the time of an ask. A delivered one is `command_settled`. */
  async amend(id: string, change: Content | CommandChange): Promise<void> {
    await amendCommand(this.#live.options, id, change);
    await rereadInbox(this.#live);
  }

  /**
   * Withdraws a waiting command. The caller of an ask gets `request_cancelled`, the receipt of a message says
   * `withdrawn`.
   */
  async withdraw(id: string): Promise<void> {
    await withdrawCommand(this.#live.options, id);
    await rereadInbox(this.#live);
  }

  /**
   * Resolves when the end is durable; false when nothing was cancelled. Rejects with `request_suspended` when this process no
   * longer runs the request: its end is not known here. Cancel it where it is resumed. With the id of an ask that waits
   * in the queue, the ask is refused as `request_cancelled`. Without an id, the running request is cancelled. Messages
   * for it are dropped. The next queued ask starts, unless `pending` is "drop". With "return" the promise has all
   * dropped asks and messages.
   */
  cancel(
    requestId: string | undefined,
    reason: string | undefined,
    options: CancelRequestOptions & { readonly pending: "return" },
  ): Promise<readonly PendingCommand[]>;
  cancel(requestId?: string, reason?: string, options?: CancelRequestOptions): Promise<boolean>;
  async cancel(
    requestId?: string,
    reason?: string,
    options: CancelRequestOptions = {},
  ): Promise<boolean | readonly PendingCommand[]> {
    checkCancelRequest({ requestId, reason }, options);
    return cancel(this.#live, { requestId, reason }, options);
  }

  /**
   * Ends the request with the results so far, as `stopped`. Running calls may end, no work starts, and waiting calls
   * are not waited for. Resolves when the end is durable; false when there was none. Rejects with `request_suspended`,
   * as `cancel` does.
   */
  async finish(requestId?: string): Promise<boolean> {
    checkTexts({ requestId });
    return finish(this.#live, requestId);
  }

  /** Changes the context of a lane. While a request runs, changes are deferred, and applied in order at its end. */
  modifyContext(operation: Partial<ContextOperation> & Pick<ContextOperation, "operation">): Promise<OperationAnswer> {
    this.#check();
    checkContextOperation(operation);
    return modify(this.#live, operation);
  }

  /**
   * Begins a new lane at an entry, on the lane of that entry, and makes it active: a second attempt, or an edited message.
   * Deferred while a request runs, as `modifyContext` is.
   */
  async branch(options: BranchOptions): Promise<OperationAnswer & { readonly lane: string }> {
    this.#check();
    checkBranchOptions(options);
    const { opId, lane = opId ?? this.#live.options.ports.ids("lane"), ...point } = options; // a retry names the same lane
    const operation = { type: "switch", reason: "manual", ...(await findBranchPosition(this.#live, point)) } as const;
    const answer = await this.modifyContext({ ...(opId !== undefined && { opId }), contextRef: lane, operation });
    return { ...answer, lane };
  }

  /** Makes a lane active, such as a branch that a person has chosen. Deferred while a request runs, as `modifyContext` is. */
  async switchBranch(lane: string): Promise<OperationAnswer> {
    this.#check();
    return switchBranch(this.#live, lane);
  }

  /** Cuts an answer to what was spoken or read, from the next model call on. The log keeps the whole answer. */
  async cutAnswer(options: CutOptions): Promise<CutAnswer> {
    this.#check();
    checkCutOptions(options);
    return cutAnswer(this.#live, options);
  }

  /** Clears the context of the model. The thread keeps everything. */
  reset(): Promise<OperationAnswer> {
    const resultContext = { id: this.#live.options.ports.ids("ctx"), entries: [] };
    return this.modifyContext({ operation: { type: "replace", reason: "manual", resultContext } });
  }

  /** Writes a summary of the entries up to `toSeq`. Resolves with the seq of its entry and the usage of its calls. */
  async summarize(options: SummarizeOptions = {}): Promise<{ readonly seq: number; readonly usage: Usage }> {
    this.#check();
    checkSummarizeOptions(options);
    return summarizeRange(this.#live, options);
  }

  /**
   * Sets the policy of the thread, or of a lane, by an entry of the log. It is used from the next request, in every
   * process. Null removes it. While a request runs, the answer is `deferred`.
   */
  async setContextPolicy(policy: ContextPolicyInput | null, options: SettingOptions = {}): Promise<OperationAnswer> {
    if (policy === undefined) throw invalid("A context policy is an object, or null to remove it.");
    const value = policy === null ? null : (checkedInput(policy) as JsonObject); // its fields are JSON
    return this.#set("setContextPolicy", { type: "context_policy", value }, options);
  }

  /** The same for the system prompt. A function cannot be stored (`not_portable`). */
  async setSystemPrompt(systemPrompt: string | null, options: SettingOptions = {}): Promise<OperationAnswer> {
    const value = systemPrompt === null ? null : portablePrompt(systemPrompt);
    return this.#set("setSystemPrompt", { type: "system_prompt", value }, options);
  }

  /**
   * The same for the model: its name, or a list of names as in an agent. A model object cannot be stored (`not_portable`), and a
   * name that is not found here is `model_unresolved`.
   */
  async setModel(model: string | readonly string[] | null, options: SettingOptions = {}): Promise<OperationAnswer> {
    this.#check();
    checkSettingOptions("setModel", options);
    const value = model === null ? null : portableModel(model);
    if (value !== null) await findModels(this.#live, value);
    return this.#set("setModel", { type: "model", value }, options);
  }

  /** The same for a mode of the agent: its prompt, tools, model and reasoning. Other names are `mode_unknown`. */
  async setMode(mode: string | null, options: SettingOptions = {}): Promise<OperationAnswer> {
    this.#check();
    if (mode !== null && typeof mode !== "string") throw invalid("mode must be the name of a mode or null.");
    const unknown =
      mode === null ? undefined : modeFailure(this.#live.agent.settings, { mode, tools: new Map(), seqs: [] });
    if (unknown !== undefined) throw new RequestError(unknown);
    return this.#set("setMode", { type: "mode", value: mode }, options);
  }

  /**
   * The same for a tool: name, description and schema are stored. The code stays in this process. Other processes find it in
   * the agent's `tools` or by `resolveTool`, else the model is not shown the tool there.
   */
  async registerTool(name: string, tool: AnyTool, options: SettingOptions = {}): Promise<OperationAnswer> {
    this.#check();
    checkSettingOptions("registerTool", options);
    checkToolName(name);
    const { tools } = await factsOf({ [name]: tool }, this.#live.hookLimit);
    const setting = toolSetting(tools[0] as ToolSpec); // one for each tool
    this.#live.options.registered.set(name, { hash: setting.hash, tool });
    return this.#set("registerTool", setting, options);
  }

  /** Removes a tool: from the next request the model is not shown it, even if the agent has it. */
  async unregisterTool(name: string, options: SettingOptions = {}): Promise<OperationAnswer> {
    checkToolName(name);
    return this.#set("unregisterTool", { type: "tool_removed", name }, options);
  }

  async #set(what: string, setting: Setting, options: SettingOptions): Promise<OperationAnswer> {
    this.#check();
    checkSettingOptions(what, options);
    return set(this.#live, setting, options);
  }

  /**
   * Stops the server: it accepts no ask and starts no model call or tool. Running work may end within `graceMs`, and is
   * stored. The process that starts the thread next resumes the request. If the store does not answer, the stop ends
   * ten seconds after the grace period, and the claim expires.
   */
  async stop(options: StopOptions = {}): Promise<void> {
    checkStopOptions(options);
    await this.#live.stop(options.graceMs ?? GRACE_MS, serverStopped());
  }

  /** Throws when the server was stopped. */
  #check(): void {
    const { stopping } = this.#live.live;
    if (stopping !== undefined) throw stopping.why;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #steer(
    kind: SteerKind,
    content: Content,
    options: (SteerOptions | InjectOptions) & { readonly skip?: boolean } = {},
  ): Promise<SteerAnswer> {
    checkSteerOptions(METHODS[kind], options);
    return steer(this.#live, { ...options, kind, content });
  }

  /** Checks edited arguments. Undefined for a call that does not wait, because its decision is refused. */
  async #edited(toolCallId: string, given: JsonValue): Promise<JsonValue | undefined> {
    await this.#live.reload();
    const { agent, tools, hookLimit } = this.#live;
    const call = waitingCalls(agent).find((one) => one.kind === "approval" && one.toolCallId === toolCallId);
    return call && checkEdited({ id: toolCallId, name: call.name }, given, tools, hookLimit);
  }

  /** Sends a decision. Rejects it if the call does not wait, so that the caller learns that it had no effect. */
  async #decide(signal: Extract<Signal, { readonly toolCallId: string }>): Promise<void> {
    this.#check();
    const { before, after } = await this.#live.command(signal);
    if (after.thread.rev > before.thread.rev) return;
    if (after.thread.rev === 0) throw threadNotFound(this.threadId); // the thread was deleted
    throw notWaiting(after, signal);
  }
}

const METHODS = { steer: "steer", inject: "inject", follow_up: "followUp", repair: "steer" } as const;

function invalid(message: string): RequestError {
  return new RequestError({ code: "invalid_options", message });
}
