import type { AnyAgent } from "../../agent/definition/config.ts";
import type { AnyTool } from "../../agent/definition/tool.ts";
import type { Usage } from "../../agent/model-call.ts";
import type { ReactAgent } from "../../agent/react/agent.ts";
import type { Signal } from "../../agent/signal.ts";
import type { BranchOptions } from "../../lanes/branch.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import { toolSetting } from "../../lanes/setting.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { CommandOutcome } from "../../stores/command.ts";
import { ThreadHeldError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { JsonValue } from "../../thread/json.ts";
import type { Content, ToolSpec } from "../../thread/message.ts";
import { checkCancelRequest } from "../option-names.ts";
import type { RegisteredTool } from "../perform/scene.ts";
import type { RuntimePorts } from "../ports.ts";
import type { SteerAnswer } from "../request/request.ts";
import type { AgentServer } from "../server/agent-server.ts";
import { cancelAtStart } from "../server/cancel.ts";
import type { CutAnswer, OperationAnswer } from "../server/modify.ts";
import type {
  CancelRequestOptions,
  CommandChange,
  CutOptions,
  Decider,
  SettingOptions,
  SteerOptions,
} from "../server/options.ts";
import { amendCommand, type PendingCommand, pendingCommands, withdrawCommand } from "../server/pending.ts";
import { factsOf } from "../server/request-values.ts";
import type { SummarizeOptions } from "../server/summarize-range.ts";
import type { RemoteCalls } from "./remote-calls.ts";

/** The inbox of a thread, and how the thread reads it again where it is live. */
export interface CommandPlace {
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
  readonly threadId: string;
  readonly reread: (isTimed: boolean) => Promise<void>;
}

/** A method of a server that is called in this process. */
export interface CallHere<Agent extends AnyAgent, Answer> {
  readonly here: (server: AgentServer<Agent>) => Promise<Answer>;
  /** The signal for the open request of a thread that is started for this call. Default: it is resumed. */
  readonly first?: (agent: ReactAgent) => Signal | undefined;
}

/** The same with its name and arguments for another process, and how this process makes its answer. */
export interface ThreadCall<Agent extends AnyAgent, Answer> extends CallHere<Agent, Answer> {
  readonly method: string;
  readonly args: readonly unknown[] | (() => Promise<readonly unknown[]>);
  /** The answer that another process has sent. Default: as it was sent. */
  readonly answer?: (value: JsonValue | undefined, calls: RemoteCalls) => Answer;
}

/**
 * The methods of a server with the thread id first. While another process runs the thread, they are sent to that process
 * through the inbox of the thread, and answered by it.
 */
export abstract class ThreadCommands<Agent extends AnyAgent> {
  protected readonly stopping = new AbortController();

  /** Aborted when `stop` is called. Responses that stay open then end, so that their pages connect to the next process. */
  get stopped(): AbortSignal {
    return this.stopping.signal;
  }

  protected abstract readonly ids: (kind: string) => string;

  protected abstract readonly calls: RemoteCalls;

  /** Uses the server of a thread. If another process holds the thread, it is `thread_held` at once. */
  protected abstract use<Answer>(threadId: string, call: CallHere<Agent, Answer>): Promise<Answer>;

  /** A thread without any ask needs no agent for this answer. */
  protected abstract unlessAsked<Answer>(
    threadId: string,
    answer: Answer,
    work: () => Promise<Answer>,
  ): Promise<Answer>;

  protected abstract place(threadId: string): CommandPlace;

  /** Calls a method of the server of a thread, here or in the process that holds the thread. */
  protected async command<Answer>(threadId: string, call: ThreadCall<Agent, Answer>): Promise<Answer> {
    try {
      return await this.use(threadId, call);
    } catch (error) {
      if (!ThreadHeldError.isInstance(error)) throw error;
      const { value } = await this.#send(threadId, call, error);
      return call.answer === undefined ? (value as Answer) : call.answer(value, this.calls); // as the method returned it
    }
  }

  /** Sends a call to the process that holds the thread. */
  async #send(
    threadId: string,
    { method, args }: Pick<ThreadCall<Agent, unknown>, "method" | "args">,
    { holder, until }: ThreadHeldError,
  ): Promise<CommandOutcome> {
    const held = new ThreadHeldError(threadId, holder, until, method);
    return this.calls.call(threadId, { method, args: typeof args === "function" ? await args() : args }, held);
  }

  /** Cancels the request of a thread, as `cancel` of a server does. While another process runs it: `thread_held`. */
  cancel(
    threadId: string,
    requestId: string | undefined,
    reason: string | undefined,
    options: CancelRequestOptions & { readonly pending: "return" },
  ): Promise<readonly PendingCommand[]>;
  cancel(threadId: string, requestId?: string, reason?: string, options?: CancelRequestOptions): Promise<boolean>;
  async cancel(
    threadId: string,
    requestId?: string,
    reason?: string,
    options: CancelRequestOptions = {},
  ): Promise<boolean | readonly PendingCommand[]> {
    checkCancelRequest({ requestId, reason }, options);
    let cancelledId: string | undefined;
    const first = (agent: ReactAgent) => {
      const signal = cancelAtStart(agent, { requestId, reason }, options);
      cancelledId = signal?.requestId;
      return signal;
    };
    const here = async (server: AgentServer<Agent>) => {
      const answer = await server.cancel(cancelledId ?? requestId, reason, options); // waits for the end
      return cancelledId === undefined ? answer : true;
    };
    const call = { ...this.#ending("cancel", threadId, requestId, [reason, options], here), first };
    const none = options.pending === "return" ? [] : false;
    return this.unlessAsked<boolean | readonly PendingCommand[]>(threadId, none, () => this.command(threadId, call));
  }

  /** Ends the request of a thread with the results so far, as `finish` of a server does. */
  finish(threadId: string, requestId?: string): Promise<boolean> {
    const here = (server: AgentServer<Agent>) => server.finish(requestId);
    return this.command(threadId, this.#ending("finish", threadId, requestId, [], here));
  }

  /** A call that ends a request. It names the request, because it may be performed twice and must not end the next one. */
  #ending<Answer>(
    method: string,
    threadId: string,
    requestId: string | undefined,
    more: readonly unknown[],
    here: ThreadCall<Agent, Answer>["here"],
  ): ThreadCall<Agent, Answer> {
    let isOpen = false;
    const args = async (): Promise<readonly unknown[]> => {
      const open = await this.calls.openId(threadId);
      isOpen = open !== undefined && open === (requestId ?? open);
      return [requestId ?? open, ...more];
    };
    const answer = (value: JsonValue | undefined) => (value === false ? isOpen : value) as Answer; // as the method returned it
    return { method, args, here, answer };
  }

  /**
   * The waiting asks, messages and context operations of a thread, in order. Claims nothing: any process may list,
   * amend and withdraw them.
   */
  pending(threadId: string): Promise<readonly PendingCommand[]> {
    return pendingCommands(this.place(threadId));
  }

  /** Replaces the content of a waiting ask or message. If it was delivered in the meantime, it is `command_settled`. */
  async amend(threadId: string, id: string, change: Content | CommandChange): Promise<void> {
    const place = this.place(threadId);
    await place.reread(await amendCommand(place, id, change));
  }

  /** Withdraws a waiting command. If it was delivered in the meantime, it is `command_settled`. */
  async withdraw(threadId: string, id: string): Promise<void> {
    const place = this.place(threadId);
    await place.reread(await withdrawCommand(place, id));
  }

  /** Revokes a permission rule of a thread; false when no rule has this id. */
  revokeRule(threadId: string, id: string, options?: Decider): Promise<boolean> {
    const here = (server: AgentServer<Agent>) => server.revokeRule(id, options);
    return this.command(threadId, { method: "revokeRule", args: [id, options], here });
  }

  /** Cuts an answer of a thread to what was spoken or read. */
  cutAnswer(threadId: string, options: CutOptions): Promise<CutAnswer> {
    const args = [{ ...options, opId: options?.opId ?? this.ids("op") }];
    return this.command(threadId, { method: "cutAnswer", args, here: (server) => server.cutAnswer(options) });
  }

  /** Adds a message of the user to the running request of a thread. */
  steer(
    threadId: string,
    content: Content,
    options?: SteerOptions & { readonly skip?: boolean },
  ): Promise<SteerAnswer> {
    return this.#steer(threadId, "steer", [content, options], (server) => server.steer(content, options));
  }

  /** Adds a message of another source, which the log names. */
  inject(threadId: string, content: Content, options: Parameters<AgentServer["inject"]>[1]): Promise<SteerAnswer> {
    return this.#steer(threadId, "inject", [content, options], (server) => server.inject(content, options));
  }

  /** Adds a message for the end of the request. */
  followUp(threadId: string, content: Content, options?: SteerOptions): Promise<SteerAnswer> {
    return this.#steer(threadId, "followUp", [content, options], (server) => server.followUp(content, options));
  }

  /** Changes the context of a lane, as `modifyContext` of a server does. */
  modifyContext(
    threadId: string,
    operation: Partial<ContextOperation> & Pick<ContextOperation, "operation">,
  ): Promise<OperationAnswer> {
    const args = [{ ...operation, opId: operation?.opId ?? this.ids("op") }];
    return this.#operate(threadId, "modifyContext", args, (server) => server.modifyContext(operation));
  }

  /** Begins a new lane at an entry, and makes it active. */
  branch(threadId: string, options: BranchOptions): Promise<OperationAnswer & { readonly lane: string }> {
    const { opId = this.ids("op"), lane = options?.opId ?? this.ids("lane") } = options ?? {};
    const args = [{ ...options, opId, lane }];
    const here = (server: AgentServer<Agent>) => server.branch(options);
    const answer = (value: JsonValue | undefined, calls: RemoteCalls) => ({ ...calls.operated(threadId, value), lane });
    return this.command(threadId, { method: "branch", args, here, answer });
  }

  /**
   * Makes a branch active, by its lane: `messageSiblings` has the lanes of a message. Deferred while a request runs. A
   * lane that the thread lacks is `context_op_lane_unknown`.
   */
  switchBranch(threadId: string, lane: string): Promise<OperationAnswer> {
    return this.#operate(threadId, "switchBranch", [lane], (server) => server.switchBranch(lane));
  }

  /** Clears the context of the model. The thread keeps everything. */
  reset(threadId: string): Promise<OperationAnswer> {
    const resultContext = { id: this.ids("ctx"), entries: [] };
    return this.modifyContext(threadId, { operation: { type: "replace", reason: "manual", resultContext } });
  }

  /** Writes a summary of the entries up to `toSeq`. */
  summarize(threadId: string, options?: SummarizeOptions): Promise<{ readonly seq: number; readonly usage: Usage }> {
    const { signal: _ofThisProcess, ...data } = options ?? {};
    return this.command(threadId, { method: "summarize", args: [data], here: (server) => server.summarize(options) });
  }

  /** Sets the policy of a thread, or of one of its lanes. Null removes it. */
  setContextPolicy(
    threadId: string,
    policy: ContextPolicyInput | null,
    options?: SettingOptions,
  ): Promise<OperationAnswer> {
    const here = (server: AgentServer<Agent>) => server.setContextPolicy(policy, options);
    return this.#operate(threadId, "setContextPolicy", [policy, options], here);
  }

  /** The same for the system prompt. */
  setSystemPrompt(threadId: string, systemPrompt: string | null, options?: SettingOptions): Promise<OperationAnswer> {
    const here = (server: AgentServer<Agent>) => server.setSystemPrompt(systemPrompt, options);
    return this.#operate(threadId, "setSystemPrompt", [systemPrompt, options], here);
  }

  /** The same for the model: its name, or a list of names. */
  setModel(
    threadId: string,
    model: string | readonly string[] | null,
    options?: SettingOptions,
  ): Promise<OperationAnswer> {
    const here = (server: AgentServer<Agent>) => server.setModel(model, options);
    return this.#operate(threadId, "setModel", [model, options], here);
  }

  /** The same for a mode of the agent. */
  setMode(threadId: string, mode: string | null, options?: SettingOptions): Promise<OperationAnswer> {
    return this.#operate(threadId, "setMode", [mode, options], (server) => server.setMode(mode, options));
  }

  /** The same for a tool. Its code stays in this process, also when the thread is released. */
  registerTool(threadId: string, name: string, tool: AnyTool, options?: SettingOptions): Promise<OperationAnswer> {
    const here = (server: AgentServer<Agent>) => server.registerTool(name, tool, options);
    const args = async (): Promise<readonly unknown[]> => {
      const { tools } = await factsOf({ [name]: tool });
      const setting = toolSetting(tools[0] as ToolSpec); // one for each tool
      this.keepTool(threadId, name, { tool, hash: setting.hash });
      return [setting, options ?? {}];
    };
    return this.#operate(threadId, "set", args, here);
  }

  /** Keeps the code of a tool that another process has registered on the thread for this one. */
  protected abstract keepTool(threadId: string, name: string, tool: RegisteredTool): void;

  /** Removes a tool from a thread. */
  unregisterTool(threadId: string, name: string, options?: SettingOptions): Promise<OperationAnswer> {
    const here = (server: AgentServer<Agent>) => server.unregisterTool(name, options);
    return this.#operate(threadId, "unregisterTool", [name, options], here);
  }

  #operate(
    threadId: string,
    method: string,
    args: ThreadCall<Agent, OperationAnswer>["args"],
    here: (server: AgentServer<Agent>) => Promise<OperationAnswer>,
  ): Promise<OperationAnswer> {
    return this.command(threadId, { method, args, here, answer: (value, calls) => calls.operated(threadId, value) });
  }

  #steer(
    threadId: string,
    method: string,
    [content, options]: readonly [Content, SteerOptions | undefined],
    here: (server: AgentServer<Agent>) => Promise<SteerAnswer>,
  ): Promise<SteerAnswer> {
    const args = [content, { ...options, id: options?.id ?? this.ids("steer") }];
    return this.command(threadId, { method, args, here, answer: (value, calls) => calls.steered(threadId, value) });
  }
}
