import type { AnyTool, Tools } from "../../agent/definition/tool.ts";
import { toModelMessages } from "../../providers/ai-sdk/model-messages.ts";
import { copyJson, type JsonValue } from "../../thread/json.ts";
import type { Message, ToolCall } from "../../thread/message.ts";
import { type RuntimePorts, systemRuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { type HookLimit, hookAnswer } from "../time-limits.ts";
import { runLimited } from "./limits.ts";
import { checkArguments, editedIssues } from "./validate.ts";

/** The arguments that replace those of a call: JSON that fits the schema of its tool. */
export async function checkEdited(
  call: Pick<ToolCall, "id" | "name">,
  given: JsonValue,
  tools: Tools,
  limit: HookLimit,
): Promise<JsonValue> {
  const { name } = call;
  const tool = Object.hasOwn(tools, name) ? tools[name] : undefined;
  if (tool === undefined) {
    const message = `The tool ${name} is not known in this process, so edited arguments cannot be checked. Approve the call where its request runs.`;
    throw new RequestError({ code: "unknown_tool", message });
  }
  const edited = copyJson(given, "arguments");
  const code = "tool_bad_arguments";
  const issues = await hookAnswer(limit, { name: `The schema of ${name}`, code }, () =>
    editedIssues({ ...call, arguments: edited }, tool),
  );
  if (issues.length === 0) return edited;
  throw new RequestError({ code, message: `The edited arguments of ${name} were not taken. ${issues.join("; ")}` });
}

export interface ApprovalLimits {
  readonly messages?: readonly Message[];
  readonly signal?: AbortSignal;
  /** Default 60,000. */
  readonly timeoutMs?: number;
  readonly ports?: RuntimePorts;
  /** Called with an error that `needsApproval` threw. It must not throw. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/**
 * Whether a call needs an approval before it runs. A call with invalid arguments does not, because it will not run. Only
 * `false` means no: an error, a timeout or any other value means yes.
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
    const needed: unknown = await needsApproval(checked.input as never, options as never); // typed by its schema
    return needed !== false;
  };
  const result = await runLimited(work, { signal, timeoutMs: tool.timeoutMs ?? timeoutMs, graceMs: 0, ports });
  if (result.type === "error") onError?.(result.error);
  return result.type === "value" ? result.value : true;
}
