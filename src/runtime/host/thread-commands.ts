import type { AnyAgent } from "../../agent/definition/config.ts";
import type { AnyTool } from "../../agent/definition/tool.ts";
import type { Usage } from "../../agent/model-call.ts";
import type { BranchOptions } from "../../lanes/branch.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { ThreadHeldError } from "../../stores/errors.ts";
import type { Content } from "../../thread/message.ts";
import type { SteerAnswer } from "../request/request.ts";
import type { AgentServer } from "../server/agent-server.ts";
import type { CutAnswer, OperationAnswer } from "../server/modify.ts";
import type { CutOptions, Decider, SettingOptions, SteerOptions } from "../server/options.ts";
import type { SummarizeOptions } from "../server/summarize-range.ts";

/**
 * The methods of a server with the thread id first. They need the claim of the thread: while another process runs it, they are
 * refused as `thread_held`.
 */
export abstract class ThreadCommands<Agent extends AnyAgent> {
  protected readonly stopping = new AbortController();

  /** Aborted when `stop` is called. Responses that stay open then end, so that their pages connect to the next process. */
  get stopped(): AbortSignal {
    return this.stopping.signal;
  }

  /** Sends a command to the server of a thread. Does not wait for the claim of another process. */
  protected abstract command<Answer>(
    threadId: string,
    what: string,
    send: (server: AgentServer<Agent>) => Promise<Answer> | Answer,
  ): Promise<Answer>;

  /** Revokes a permission rule of a thread; false when no rule has this id. */
  revokeRule(threadId: string, id: string, options?: Decider): Promise<boolean> {
    return this.command(threadId, "revokeRule", (server) => server.revokeRule(id, options));
  }

  /** Cuts an answer of a thread to what was spoken or read. */
  cutAnswer(threadId: string, options: CutOptions): Promise<CutAnswer> {
    return this.command(threadId, "cutAnswer", (server) => server.cutAnswer(options));
  }

  /** Adds a message of the user to the running request of a thread. */
  steer(
    threadId: string,
    content: Content,
    options?: SteerOptions & { readonly skip?: boolean },
  ): Promise<SteerAnswer> {
    return this.command(threadId, "steer", (server) => server.steer(content, options));
  }

  /** Adds a message of another source, which the log names. */
  inject(threadId: string, content: Content, options: Parameters<AgentServer["inject"]>[1]): Promise<SteerAnswer> {
    return this.command(threadId, "inject", (server) => server.inject(content, options));
  }

  /** Adds a message for the end of the request. */
  followUp(threadId: string, content: Content, options?: SteerOptions): Promise<SteerAnswer> {
    return this.command(threadId, "followUp", (server) => server.followUp(content, options));
  }

  /** Ends the request of a thread with the results so far, as `finish` of a server does. */
  finish(threadId: string, requestId?: string): Promise<boolean> {
    return this.command(threadId, "finish", (server) => server.finish(requestId));
  }

  /** Changes the context of a lane, as `modifyContext` of a server does. */
  modifyContext(
    threadId: string,
    operation: Partial<ContextOperation> & Pick<ContextOperation, "operation">,
  ): Promise<OperationAnswer> {
    return this.command(threadId, "modifyContext", (server) => server.modifyContext(operation));
  }

  /** Begins a new lane at an entry, and makes it active. */
  branch(threadId: string, options: BranchOptions): Promise<OperationAnswer & { readonly lane: string }> {
    return this.command(threadId, "branch", (server) => server.branch(options));
  }

  /**
   * Makes a branch active, by its lane: `messageSiblings` has the lanes of a message. Deferred while a request runs. A
   * lane that the thread lacks is `context_op_lane_unknown`.
   */
  switchBranch(threadId: string, lane: string): Promise<OperationAnswer> {
    return this.command(threadId, "switchBranch", (server) => server.switchBranch(lane));
  }

  /** Clears the context of the model. The thread keeps everything. */
  reset(threadId: string): Promise<OperationAnswer> {
    return this.command(threadId, "reset", (server) => server.reset());
  }

  /** Writes a summary of the entries up to `toSeq`. */
  summarize(threadId: string, options?: SummarizeOptions): Promise<{ readonly seq: number; readonly usage: Usage }> {
    return this.command(threadId, "summarize", (server) => server.summarize(options));
  }

  /** Sets the policy of a thread, or of one of its lanes. Null removes it. */
  setContextPolicy(
    threadId: string,
    policy: ContextPolicyInput | null,
    options?: SettingOptions,
  ): Promise<OperationAnswer> {
    return this.command(threadId, "setContextPolicy", (server) => server.setContextPolicy(policy, options));
  }

  /** The same for the system prompt. */
  setSystemPrompt(threadId: string, systemPrompt: string | null, options?: SettingOptions): Promise<OperationAnswer> {
    return this.command(threadId, "setSystemPrompt", (server) => server.setSystemPrompt(systemPrompt, options));
  }

  /** The same for the model: its name, or a list of names. */
  setModel(
    threadId: string,
    model: string | readonly string[] | null,
    options?: SettingOptions,
  ): Promise<OperationAnswer> {
    return this.command(threadId, "setModel", (server) => server.setModel(model, options));
  }

  /** The same for a mode of the agent. */
  setMode(threadId: string, mode: string | null, options?: SettingOptions): Promise<OperationAnswer> {
    return this.command(threadId, "setMode", (server) => server.setMode(mode, options));
  }

  /** The same for a tool. Its code stays in this process, also when the thread is released. */
  registerTool(threadId: string, name: string, tool: AnyTool, options?: SettingOptions): Promise<OperationAnswer> {
    return this.command(threadId, "registerTool", (server) => server.registerTool(name, tool, options));
  }

  /** Removes a tool from a thread. */
  unregisterTool(threadId: string, name: string, options?: SettingOptions): Promise<OperationAnswer> {
    return this.command(threadId, "unregisterTool", (server) => server.unregisterTool(name, options));
  }
}

/** Rethrows an error. If another process holds the thread, it names the command. */
export function heldFrom(command: string): (error: unknown) => never {
  return (error) => {
    if (!ThreadHeldError.isInstance(error) || error.requestId !== undefined) throw error;
    const { threadId = "", holder, until } = error;
    throw new ThreadHeldError(threadId, holder, until, undefined, command);
  };
}
