import type { AgentContext, AgentOutput, AnyAgent } from "../../agent/definition/config.ts";
import type { AnyTool } from "../../agent/definition/tool.ts";
import type { WaitingCall } from "../../agent/react/agent.ts";
import type { BranchOptions } from "../../lanes/branch.ts";
import type { ContextOperation } from "../../lanes/context-operation.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { ExplainedEntry } from "../../projection/projection.ts";
import type { Content } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import type { AgentRequest, SteerAnswer } from "../request/request.ts";
import type { RequestResult } from "../request/result.ts";
import type { OperationAnswer } from "../session/promised.ts";
import type { AskArguments, AskOptions, Decider, SenderOptions, SteerOptions, StopOptions } from "./options.ts";

/** An agent on one thread, which it holds as long as it runs: of two processes only one gets it. */
export interface AgentServer<Given extends AnyAgent = AnyAgent> extends AsyncDisposable {
  readonly threadId: string;
  /** The request that is under way, also one that was taken up after a crash. */
  readonly request: AgentRequest<AgentOutput<Given>> | undefined;
  /**
   * Asks. When this resolves the ask is durable and the model is at work. An ask that is not accepted is a RequestError
   * (`busy`, `empty_ask`, `unknown_tool`, `pending_overflow`, `not_accepted`), and the thread is as it was.
   */
  ask(
    content: Content,
    ...options: AskArguments<AskOptions<AgentContext<Given>>>
  ): Promise<AgentRequest<AgentOutput<Given>>>;
  /**
   * What a request came to, also one that ended long ago or in another process: one that is at work is waited for. Rejects as
   * its own `result` does, and with `request_waiting` or `request_not_found`.
   */
  result(requestId: string): Promise<RequestResult<AgentOutput<Given>>>;
  /** The thread as it is now. Of a long one only the end: query all of it with `store.read(threadId, { kinds, refs })`. */
  thread(): Thread;
  /**
   * What became of every entry in the view of the last model call; before the first of this server, in the view that it would have.
   * A policy that was set since may need more of a long thread than is loaded: `tail_too_short`, until that call.
   */
  explain(): readonly ExplainedEntry[];

  /** The calls that wait for somebody outside, to approve them or to answer them. */
  waiting(): readonly WaitingCall[];
  /** Lets a call run that waits for approval. The decision is durable when this resolves. */
  approve(toolCallId: string, options?: Decider): Promise<void>;
  deny(toolCallId: string, options?: Decider): Promise<void>;
  /** The result of a call of a tool that has no `execute`: anything that `execute` may return, `fail(error)` among it. */
  answer(toolCallId: string, output: unknown, options?: SenderOptions): Promise<void>;

  /** Words of the user for the request under way, before its next model call. */
  steer(content: Content, options?: SteerOptions): SteerAnswer;
  /** The same from somebody else, who is named in the log. */
  inject(content: Content, options: SteerOptions & { readonly source: string }): SteerAnswer;
  /** Words for when the request would be done: it goes on with them. */
  followUp(content: Content, options?: SteerOptions): SteerAnswer;
  /**
   * Resolves when the request has ended; false when there was none. With the id of an ask that waits in the queue, the ask is
   * refused as `request_cancelled`. Without an id, the running request is cancelled, and the next ask has its turn.
   */
  cancel(requestId?: string, reason?: string, options?: SenderOptions): Promise<boolean>;
  /**
   * Ends the request with what there is, as `stopped`: what is at work may end, nothing else is begun, and nobody outside is
   * waited for. Resolves when it has ended; false when there was none.
   */
  finish(requestId?: string): Promise<boolean>;

  /** Changes what a lane shows; while a request runs it waits, and the last one wins. */
  modifyContext(operation: Partial<ContextOperation> & Pick<ContextOperation, "operation">): Promise<OperationAnswer>;
  /**
   * Begins a new lane at an entry, on the lane of that entry, and makes it active: a second attempt, or a message written
   * again. Waits for a running request, as `modifyContext` does.
   */
  branch(options: BranchOptions): Promise<OperationAnswer & { readonly lane: string }>;
  /** The model forgets what was; the thread does not. */
  reset(): Promise<OperationAnswer>;
  /** Has a summary written of what stands up to `toSeq`; default all but the turns that the policy keeps. */
  summarize(range?: { readonly fromSeq?: number; readonly toSeq?: number }): Promise<{ readonly seq: number }>;

  /** From the next model call on. Resolves when it holds: a counter that it asks for may have to be loaded first. */
  setContextPolicy(policy: ContextPolicyInput): Promise<void>;
  /** From the next model call on; a function is asked from the next request on, and the one at work keeps the prompt it has. */
  setSystemPrompt(systemPrompt: NonNullable<Given["systemPrompt"]>): void;
  registerTool(name: string, tool: AnyTool): Promise<void>;
  unregisterTool(name: string): Promise<boolean>;

  /**
   * Takes no more asks and begins nothing new: no call of the model, no tool. What is at work may end within `graceMs`, and is stored;
   * the request goes on where the thread is started again. Ends ten seconds after the grace, also when the store never answers: the
   * claim then runs out by itself.
   */
  stop(options?: StopOptions): Promise<void>;
}
