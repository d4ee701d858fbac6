import type { AnyTool, ToolOptions } from "../../agent/definition/tool.ts";
import { toModelMessages } from "../../providers/ai-sdk/model-messages.ts";
import type { Message, ToolCall } from "../../thread/message.ts";
import { aborted, messageOf, notShown, thrown, timedOut } from "./failures.ts";
import { isAsyncIterable, Outputs } from "./last-value.ts";
import { partialOf, type ToolAnswer } from "./outcome.ts";
import { answerOf } from "./result.ts";
import { type Limits, type Stopped, settle } from "./settle.ts";
import { checkArguments } from "./validate.ts";

/** Whether the process that runs the call may still act for its request. */
export interface ToolHold {
  /** Whether no other process can run the request. */
  readonly isHeld: () => boolean;
  /** The same, after it was made sure of; where it is false, the attempt does not start. */
  readonly ensure: () => Promise<boolean>;
}

export interface Attempt {
  readonly call: ToolCall;
  readonly tool: AnyTool;
  readonly context: unknown;
  readonly idempotencyKey: string;
  readonly messages: readonly Message[];
  readonly limits: Limits;
  readonly maxResultBytes: number;
  readonly hold: ToolHold;
  readonly onValue: () => void;
  readonly onError: (error: unknown, code: string) => void;
}

interface Tried {
  readonly answer: ToolAnswer;
  readonly executed: boolean;
}

/** One try, from the arguments to what the model reads; everything a tool brings along runs inside its limits. */
export async function attempt(given: Attempt): Promise<Tried> {
  const { call, tool, limits } = given;
  const outputs = new Outputs();
  let executed = false;
  let input: unknown;
  const work = async (
    signal: AbortSignal,
  ): Promise<{ readonly refused: ToolAnswer } | { readonly output: unknown }> => {
    const checked = await checkArguments(call, tool);
    if ("refused" in checked) return checked;
    const { hold } = given;
    if (!hold.isHeld() && !(await hold.ensure())) return { refused: aborted(call.name, false) };
    signal.throwIfAborted();
    executed = true;
    input = checked.input;
    return { output: await execute(given, input, signal, outputs) };
  };
  const settled = await settle(work, limits);
  const { last } = outputs;
  switch (settled.type) {
    case "value": {
      const { value, stopped } = settled;
      if ("refused" in value) return { answer: value.refused, executed };
      if (stopped === "timed_out" && value.output === undefined)
        return { answer: timedOut(call.name, limits.timeoutMs), executed };
      // A function that ends by itself after a cancel has done its work; a generator was cut short.
      const isWhole = stopped === undefined || (stopped === "cancelled" && last === undefined);
      return { answer: await shown(given, input, value.output, isWhole ? undefined : stopped), executed };
    }
    case "error": {
      const answer = thrown(call.name, settled.error);
      given.onError(settled.error, answer.failure?.code ?? "tool_failed");
      return { answer, executed };
    }
    case "timeout":
      if (last !== undefined) return { answer: await shown(given, input, last.value, "timed_out"), executed };
      return { answer: timedOut(call.name, limits.timeoutMs), executed };
    case "aborted":
      if (last !== undefined) return { answer: await shown(given, input, last.value, "cancelled"), executed };
      return { answer: aborted(call.name, executed), executed };
    default:
      return settled satisfies never;
  }
}

/** What the model reads of an output. From here on the tool has run: whatever fails, the answer says so, and it is not run again. */
async function shown(given: Attempt, input: unknown, output: unknown, partial?: Stopped): Promise<ToolAnswer> {
  const { call, tool, maxResultBytes, limits } = given;
  const isStopped = partial !== undefined || limits.signal?.aborted === true;
  // A cancel that has happened must not drop the output.
  const within: Limits = isStopped ? { ...limits, signal: undefined, timeoutMs: limits.graceMs } : limits;
  const converted = { name: call.name, toolCallId: call.id, input, output };
  const settled = await settle(() => answerOf(converted, tool, maxResultBytes), { ...within, graceMs: 0 });
  if (settled.type === "value") return partial === undefined ? settled.value : partialOf(settled.value, partial);
  if (settled.type !== "error") return notShown(call.name, "toModelOutput gave nothing in time.");
  const answer = notShown(call.name, `toModelOutput threw: ${messageOf(settled.error)}`);
  given.onError(settled.error, answer.failure?.code ?? "tool_output_failed");
  return answer;
}

async function execute(
  { call, tool, context, idempotencyKey, messages, limits, hold, onValue }: Attempt,
  input: unknown,
  signal: AbortSignal,
  outputs: Outputs,
) {
  const options: ToolOptions = {
    context,
    experimental_context: context,
    toolCallId: call.id,
    idempotencyKey,
    abortSignal: signal,
    isHeld: hold.isHeld,
    get messages() {
      return modelMessages(messages); // made only for the few tools that look
    },
  };
  const output = await tool.execute?.(input as never, options as never); // validated by the schema its type comes from
  return isAsyncIterable(output) ? outputs.of(output, signal, limits.ports, onValue) : output;
}

function modelMessages(messages: readonly Message[]): readonly unknown[] {
  return toModelMessages(messages.filter(({ role }) => role !== "system"));
}
