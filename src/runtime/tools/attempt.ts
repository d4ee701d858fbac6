import type { AnyTool, ToolOptions } from "../../agent/definition/tool.ts";
import { toModelMessages } from "../../providers/ai-sdk/model-messages.ts";
import type { Message, ToolCall } from "../../thread/message.ts";
import { aborted, thrown, timedOut } from "./failures.ts";
import { isAsyncIterable, lastValue } from "./last-value.ts";
import type { ToolAnswer } from "./outcome.ts";
import { answerOf } from "./result.ts";
import { type Limits, settle } from "./settle.ts";
import { checkArguments } from "./validate.ts";

export interface Attempt {
  readonly call: ToolCall;
  readonly tool: AnyTool;
  readonly context: unknown;
  readonly idempotencyKey: string;
  readonly messages: readonly Message[];
  readonly limits: Limits;
  readonly maxResultBytes: number;
  readonly onValue: () => void;
  readonly onError: (error: unknown, code: string) => void;
}

/** One try, from the arguments to what the model reads; everything a tool brings along runs inside its limits. */
export async function attempt(given: Attempt): Promise<{ readonly answer: ToolAnswer; readonly executed: boolean }> {
  const { call, tool, limits, maxResultBytes } = given;
  let executed = false;
  const work = async (signal: AbortSignal): Promise<ToolAnswer> => {
    const checked = await checkArguments(call, tool);
    if ("refused" in checked) return checked.refused;
    signal.throwIfAborted();
    executed = true;
    const { input } = checked;
    const output = await execute(given, input, signal);
    return answerOf({ name: call.name, toolCallId: call.id, input, output }, tool, maxResultBytes);
  };
  const settled = await settle(work, limits);
  switch (settled.type) {
    case "value":
      return { answer: settled.value, executed };
    case "error": {
      const answer = thrown(call.name, settled.error);
      given.onError(settled.error, answer.failure?.code ?? "tool_failed");
      return { answer, executed };
    }
    case "timeout":
      return { answer: timedOut(call.name, limits.timeoutMs), executed };
    case "aborted":
      return { answer: aborted(call.name, executed), executed };
    default:
      return settled satisfies never;
  }
}

async function execute(
  { call, tool, context, idempotencyKey, messages, limits, onValue }: Attempt,
  input: unknown,
  signal: AbortSignal,
) {
  const options: ToolOptions = {
    context,
    experimental_context: context,
    toolCallId: call.id,
    idempotencyKey,
    abortSignal: signal,
    get messages() {
      return modelMessages(messages); // made only for the few tools that look
    },
  };
  const output = await tool.execute?.(input as never, options as never); // validated by the schema its type comes from
  return isAsyncIterable(output) ? lastValue(output, signal, limits.ports, onValue) : output;
}

function modelMessages(messages: readonly Message[]): readonly unknown[] {
  return toModelMessages(messages.filter(({ role }) => role !== "system"));
}
