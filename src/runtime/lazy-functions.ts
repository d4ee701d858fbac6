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
 * Rebuilds the exact messages and tool specs of a past model call, from the log and the blobs that the call names. They are
 * compared with the recorded fingerprint. If they differ or something is missing, it throws a CallError with the reason.
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
 * Runs one tool call as an agent does, with its retries. It never throws and never hangs: an error, a timeout or a cancel
 * becomes a result for the model.
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
 * The specifications of tools for a model: draft-07 JSON Schemas, frozen, in the order of the tools. A tool without a valid
 * specification is a ToolError: `tool_name_invalid`, `invalid_tool`, `tool_schema_unsupported`.
 *
 * @example
 * const inputSchema = { type: "object", properties: { city: { type: "string" } } } as const;
 * const [spec] = await toolSpecsOf({ weather: { description: "The weather of a city", inputSchema } });
 * console.log(spec?.name); // weather
 */
export async function toolSpecsOf(tools: Tools, options?: SpecOptions): Promise<readonly ToolSpec[]> {
  return specs.toolSpecsOf(tools, options);
}

/** The tools of an MCP server, through a connected client. */
export async function mcpTools(
  client: McpClient | (() => Promise<McpClient>),
  options?: McpOptions,
): Promise<{ [name: string]: Tool<JsonObject> }> {
  return mcp.mcpTools(client, options);
}

/** Telemetry for OpenTelemetry, by the semantic conventions for GenAI. Needs the package `@opentelemetry/api`. */
export async function openTelemetry(options?: OpenTelemetryOptions): Promise<Telemetry> {
  return telemetry.openTelemetry(options);
}

export type { McpClient, McpOptions, McpTool, OpenTelemetryOptions, SpecOptions, ToolRunOptions, ToolRunResult };
