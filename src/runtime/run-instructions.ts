import { cmd } from "../agent/cmd.ts";
import type { AnyAction, DirectAgent, DirectDirective, Instruction, Params } from "../agent/direct/agent.ts";
import { type CommandOptions, checkParams, ID_REUSED, invalidParams } from "../agent/direct/decide.ts";
import type { Failure } from "../agent/signal.ts";
import { EntryIdReuseError } from "../stores/errors.ts";
import type { ThreadStore } from "../stores/port.ts";
import { HeddleError } from "../thread/errors.ts";
import { Thread } from "../thread/thread.ts";
import { systemRuntimePorts } from "./ports.ts";
import { retryStore } from "./session/store-retry.ts";

/** The outcome of one instruction. */
export type InstructionOutcome = { readonly instructionId: string; readonly action: string } & (
  | { readonly status: "ok"; readonly value: unknown }
  /** `error` is the original error that the action threw. */
  | { readonly status: "error"; readonly failure: Failure; readonly error?: unknown }
  /** Not run, because an earlier one failed with `stopOnError`, or the signal was aborted. */
  | { readonly status: "skipped" }
);

/** Options of `runInstructions()`: the context of the actions, a signal, and whether instructions are logged. */
export type RunInstructionsOptions<Context> = CommandOptions & {
  /** The context for the actions. */
  readonly context: Context;
  /** Passed to the actions. After an abort no further instruction is run. Default: none. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Stores the log: the start of each instruction before its action runs, and its outcome after it. An instruction whose
   * `instructionId` is in the log is refused as `instruction_id_reused`, also after a crash. Default: none.
   */
  readonly store?: ThreadStore | undefined;
  /** The thread in the store. Default: that of the agent. */
  readonly threadId?: string | undefined;
};

/**
 * Runs instructions one after the other. After a failure the next one runs, unless the agent has `stopOnError`. The log of
 * the returned agent has the outcomes.
 *
 * @example
 * const add = defineAction({
 *   name: "add",
 *   inputSchema: jsonSchema<{ a: number; b: number }>({ type: "object" }),
 *   run: ({ a, b }) => a + b,
 * });
 * const agent = direct({ actions: [add], thread: true });
 * const instruction = { type: "instruction", action: "add", params: { a: 2, b: 2 } } as const;
 * const { results } = await runInstructions(agent, [instruction], { context: undefined });
 * console.log(results[0]?.status); // "ok"
 */
export async function runInstructions<Context>(
  agent: DirectAgent<Context>,
  instructions: readonly Instruction[],
  options: RunInstructionsOptions<Context>,
): Promise<{ readonly agent: DirectAgent<Context>; readonly results: readonly InstructionOutcome[] }> {
  const { context, signal = new AbortController().signal, store, threadId = agent.thread.id } = options;
  const thread = options.thread ?? store !== undefined;
  const results: InstructionOutcome[] = [];
  const log = store && { store, runId: agent.ports.ids("run") };
  let current = store === undefined ? agent : { ...agent, thread: await loadLog(store, agent, threadId) };
  for (const instruction of instructions) {
    const { action } = instruction;
    const hasFailed = agent.stopOnError && results.some(({ status }) => status === "error");
    if (hasFailed || signal.aborted) {
      const instructionId = instruction.instructionId ?? agent.ports.ids("instruction");
      results.push({ instructionId, action, status: "skipped" });
      continue;
    }
    const begun = cmd(current, instruction, { thread });
    try {
      current = await committed(log, current, begun.agent);
    } catch (error) {
      if (!EntryIdReuseError.isInstance(error)) throw error;
      results.push({ instructionId: instruction.instructionId ?? "", action, status: "error", failure: ID_REUSED });
      continue; // another process has started it
    }
    for (const directive of begun.directives) {
      const outcome = await perform(current, directive, action, { context, signal });
      results.push(outcome);
      const { instructionId } = directive;
      const end =
        outcome.status === "error"
          ? { status: "error" as const, code: outcome.failure.code }
          : { status: "ok" as const };
      const ended = cmd(current, { type: "instruction_result", instructionId, ...end }).agent;
      current = await committed(log, current, ended);
    }
  }
  return { agent: current, results };
}

/** The log in the store. A log that the agent has already is saved first. */
async function loadLog<Context>(
  store: ThreadStore,
  { thread, ports }: DirectAgent<Context>,
  id: string,
): Promise<Thread> {
  if (thread.id === id && thread.rev > 0) await store.save(thread);
  return (await store.load(id)) ?? Thread.create({ id, ...ports });
}

interface StoredLog {
  readonly store: ThreadStore;
  /** Differs between two processes that run the same instruction. */
  readonly runId: string;
}

/** Stores the new entry. Its id follows from that of the instruction, so that one of two processes is refused. */
async function committed<Context>(
  log: StoredLog | undefined,
  before: DirectAgent<Context>,
  after: DirectAgent<Context>,
): Promise<DirectAgent<Context>> {
  const made = after.thread.rev > before.thread.rev ? after.thread.last() : undefined;
  if (log === undefined || made === undefined) return after;
  const { store, runId } = log;
  const id = `${made.refs.instructionId}/${made.kind === "instruction_start" ? 0 : 1}`;
  const entry = { ...made, id, refs: { ...made.refs, runId } };
  const { id: threadId } = before.thread;
  const { rev } = await retryStore(systemRuntimePorts, () => store.append(threadId, entry)); // its id is stored once
  const thread = before.thread.append(entry);
  if (rev === thread.rev) return { ...after, thread };
  // Other writers of the thread have appended.
  return { ...after, thread: (await retryStore(systemRuntimePorts, () => store.load(threadId))) ?? thread };
}

interface ActionOptions<Context> {
  readonly context: Context;
  readonly signal: AbortSignal;
}

async function perform<Context>(
  { actions }: DirectAgent<Context>,
  directive: DirectDirective,
  name: string,
  options: ActionOptions<Context>,
): Promise<InstructionOutcome> {
  const { instructionId } = directive;
  const of = { instructionId, action: name };
  if (directive.type === "emit_instruction_error") return { ...of, status: "error", failure: directive.failure };
  const action = actions.find((one) => one.name === name);
  if (action === undefined) throw new Error("cmd runs known actions only.");
  try {
    return { ...of, ...(await run(action, directive.params, options)) };
  } catch (error) {
    return { ...of, status: "error", failure: failureOf(name, error), error };
  }
}

type ActionOutcome =
  | { readonly status: "ok"; readonly value: unknown }
  | { readonly status: "error"; readonly failure: Failure };

async function run<Context>(
  action: AnyAction<Context>,
  params: Params,
  options: ActionOptions<Context>,
): Promise<ActionOutcome> {
  const checked = await checkParams(action.inputSchema, params);
  if ("paths" in checked) return { status: "error", failure: invalidParams(action.name, checked.paths) };
  const value = await action.run(checked.value as never, options); // checked by its schema
  return { status: "ok", value };
}

/** A failure quotes only errors of Heddle, because the text of any other error may be secret. */
function failureOf(action: string, error: unknown): Failure {
  if (!HeddleError.isInstance(error)) return { code: "action_failed", message: `The action ${action} failed.` };
  const { code, message, retryable } = error;
  return { code, message, retryable };
}
