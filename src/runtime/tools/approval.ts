import type { AnyTool } from "../../agent/definition/tool.ts";
import { toModelMessages } from "../../providers/ai-sdk/model-messages.ts";
import type { Message, ToolCall } from "../../thread/message.ts";
import { type RuntimePorts, systemRuntimePorts } from "../ports.ts";
import { settle } from "./settle.ts";
import { checkArguments } from "./validate.ts";

export interface ApprovalLimits {
  readonly messages?: readonly Message[];
  readonly signal?: AbortSignal;
  /** 60 seconds. */
  readonly timeoutMs?: number;
  readonly ports?: RuntimePorts;
  /** Called with what `needsApproval` threw; must not throw itself. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * Whether somebody has to approve a call before it runs. Arguments that the schema refuses need nobody: the call will
 * not run. Everything that is not a clear `false` is a yes: an error, a timeout, another value.
 *
 * @example
 * const transfer = { inputSchema: { type: "object" }, needsApproval: ({ amount }: { amount: number }) => amount > 100 } as const;
 * const call = { id: "call_1", name: "transfer", arguments: { amount: 500 } };
 * console.log(await approvalNeeded(call, transfer, undefined)); // true
 */
export async function approvalNeeded(
  call: ToolCall,
  tool: AnyTool,
  context: unknown,
  { messages = [], signal, timeoutMs = 60_000, ports = systemRuntimePorts, onError }: ApprovalLimits = {},
): Promise<boolean> {
  const { needsApproval } = tool;
  if (needsApproval === undefined || needsApproval === false) return false;
  const work = async (): Promise<boolean> => {
    const checked = await checkArguments(call, tool);
    if ("refused" in checked) return false;
    if (typeof needsApproval !== "function") return true;
    const history = messages.filter(({ role }) => role !== "system");
    const options = { context, experimental_context: context, toolCallId: call.id, messages: toModelMessages(history) };
    const needed: unknown = await needsApproval(checked.input as never, options as never); // as its schema and types say
    return needed !== false;
  };
  const settled = await settle(work, { signal, timeoutMs: tool.timeoutMs ?? timeoutMs, graceMs: 0, ports });
  if (settled.type === "error") onError?.(settled.error);
  return settled.type === "value" ? settled.value : true;
}
