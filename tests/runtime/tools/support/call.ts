import type { AnyTool } from "../../../../src/agent/definition/tool.ts";
import type { ToolRunResult } from "../../../../src/runtime/tools/outcome.ts";
import { runTool, type ToolRunOptions } from "../../../../src/runtime/tools/run-tool.ts";
import type { JsonValue } from "../../../../src/thread/json.ts";
import type { ToolCall } from "../../../../src/thread/message.ts";

export const object = { type: "object" } as const;

export function call(args: JsonValue = {}, name = "probe"): ToolCall {
  return { id: "call_1", name, arguments: args };
}

/** Runs a tool called `probe`. */
export function run(
  tool: Partial<AnyTool>,
  args: JsonValue = {},
  options: Partial<ToolRunOptions> = {},
): Promise<ToolRunResult> {
  return runTool(call(args), { tools: { probe: { inputSchema: object, ...tool } }, ...options });
}

/** What the model reads when a tool gives this. */
export function given(output: unknown, options: Partial<ToolRunOptions> = {}): Promise<ToolRunResult> {
  return run({ execute: () => output }, {}, options);
}

export function errorIn({ content }: Pick<ToolRunResult, "content">): { type: string; message: string } {
  return JSON.parse(String(content)).error;
}
