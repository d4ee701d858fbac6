import type { Tool, Tools } from "../agent/definition/tool.ts";
import type { ThreadStore } from "../stores/port.ts";
import type { JsonObject } from "../thread/json.ts";
import type { ToolCall, ToolSpec } from "../thread/message.ts";
import type { RebuildOptions, RebuiltCall } from "./calls/rebuild-call.ts";
import * as calls from "./calls/rebuild-call.ts";
import type { OpenTelemetryOptions } from "./telemetry/open-telemetry.ts";
import * as telemetry from "./telemetry/open-telemetry.ts";
import type { Telemetry } from "./telemetry/telemetry.ts";
import type { McpClient, McpOptions, McpTool } from "./tools/mcp.ts";
import * as mcp from "./tools/mcp.ts";
import type { ToolRunResult } from "./tools/outcome.ts";
import type { ToolRunOptions } from "./tools/run-tool.ts";
import * as runs from "./tools/run-tool.ts";
import type { SpecOptions } from "./tools/schemas.ts";
import * as specs from "./tools/schemas.ts";

/**
 * The exact messages and tool specs that a past model call was sent. They are made again from the log and the blobs that
 * the call names, and compared with the fingerprint that was recorded; what cannot be proven is a CallError that says what
 * is missing or differs.
 *
 * @example
 * const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["4"]) }), store });
 * const { result } = await server.ask("What's 2+2?");
 * const [call] = (await result).calls;
 * const { messages } = await rebuildCall(store, server.threadId, call?.callId ?? "");
 * console.log(messages); // [ { role: 'user', content: "What's 2+2?" } ]
 * await server.stop();
 */
export async function rebuildCall(
  store: ThreadStore,
  threadId: string,
  callId: string,
  options?: RebuildOptions,
): Promise<RebuiltCall> {
  return calls.rebuildCall(store, threadId, callId, options);
}

/**
 * Runs one call of a model, retries included, and says what became of it, as an agent does. It never throws and never
 * hangs: whatever the tool does is a result that the model can read.
 *
 * @example
 * const tools = { double: { inputSchema: { type: "object" }, execute: ({ n }: { n: number }) => 2 * n } } as const;
 * const { content, isError } = await runTool({ id: "call_1", name: "double", arguments: { n: 21 } }, { tools });
 * console.log(content, isError); // 42 false
 */
export async function runTool(call: ToolCall, options: ToolRunOptions): Promise<ToolRunResult> {
  return runs.runTool(call, options);
}

/**
 * The tools as a model is told of them: draft-07 JSON Schemas, frozen, in the order given. A tool that no model can be
 * told of is a ToolError: `tool_name_invalid`, `invalid_tool`, `tool_schema_unsupported`.
 *
 * @example
 * const inputSchema = { type: "object", properties: { city: { type: "string" } } } as const;
 * const [spec] = await toolSpecsOf({ weather: { description: "The weather of a city", inputSchema } });
 * console.log(spec?.name); // weather
 */
export async function toolSpecsOf(tools: Tools, options?: SpecOptions): Promise<readonly ToolSpec[]> {
  return specs.toolSpecsOf(tools, options);
}

/** The tools of an MCP server, through a client that is connected to it. */
export async function mcpTools(client: McpClient, options?: McpOptions): Promise<{ [name: string]: Tool<JsonObject> }> {
  return mcp.mcpTools(client, options);
}

/** Telemetry for OpenTelemetry, by the semantic conventions for GenAI. Needs the package `@opentelemetry/api`. */
export async function openTelemetry(options?: OpenTelemetryOptions): Promise<Telemetry> {
  return telemetry.openTelemetry(options);
}

export type { McpClient, McpOptions, McpTool, OpenTelemetryOptions, SpecOptions, ToolRunOptions, ToolRunResult };
