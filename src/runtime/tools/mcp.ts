import { ToolError } from "../../agent/definition/errors.ts";
import { jsonSchema } from "../../agent/definition/schema.ts";
import { mcpResult, type Tool, type ToolOptions } from "../../agent/definition/tool.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { refuseUnknownOptions } from "../../thread/options.ts";

/** A connected MCP client, with the methods of `@modelcontextprotocol/sdk` 1 or `@modelcontextprotocol/client` 2. */
export interface McpClient {
  listTools(params?: {
    cursor: string;
  }): Promise<{ readonly tools: readonly McpTool[]; readonly nextCursor?: unknown }>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }, ...more: never[]): Promise<unknown>;
}

/** A tool as an MCP server lists it. */
export interface McpTool {
  readonly name: string;
  readonly description?: string | undefined;
  readonly inputSchema: object;
}

/** How `mcpTools()` names the tools of a server. */
export interface McpOptions {
  /** Put before every name, so that the tools of two servers have different names. Default "". */
  readonly prefix?: string | undefined;
}

/** The longest timer. The timeout of the tool limits the call, so the client gets no shorter one. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_PAGES = 1_000;

/**
 * The current tools of an MCP server. Names that no provider accepts are changed, such as `files/read` to `files_read`.
 * Calls are never repeated. If a tool is safe to repeat, use `{ ...tool, repeatable: true }`.
 *
 * @example
 * const client = {
 *   listTools: async () => ({ tools: [{ name: "time", inputSchema: { type: "object" } }] }),
 *   callTool: async () => ({ content: [{ type: "text", text: "12:00" }] }),
 * };
 * console.log(Object.keys(await mcpTools(client))); // [ 'time' ]
 */
export async function mcpTools(
  client: McpClient,
  options: McpOptions = {},
): Promise<{ [name: string]: Tool<JsonObject> }> {
  refuseUnknownOptions("mcpTools", options, { prefix: true });
  const tools: { [name: string]: Tool<JsonObject> } = {};
  for (const listed of await allTools(client)) {
    tools[freeName(`${options.prefix ?? ""}${listed.name}`, tools)] = toolOf(client, listed);
  }
  return tools;
}

async function allTools(client: McpClient): Promise<readonly McpTool[]> {
  const tools: McpTool[] = [];
  const seen = new Set<unknown>();
  let cursor: unknown;
  do {
    const page = await pageOf(client, cursor);
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (seen.has(cursor) || seen.size >= MAX_PAGES) throw unavailable("Its list of tools never ends.");
    seen.add(cursor);
  } while (cursor !== undefined && cursor !== null && cursor !== "");
  return tools;
}

async function pageOf(client: McpClient, cursor: unknown): ReturnType<McpClient["listTools"]> {
  try {
    return await (typeof cursor === "string" ? client.listTools({ cursor }) : client.listTools());
  } catch (cause) {
    throw unavailable("Listing its tools failed. `cause` has the error.", cause);
  }
}

function unavailable(trouble: string, cause?: unknown): ToolError {
  const message = `The MCP server cannot be used. ${trouble}`;
  return new ToolError({ code: "mcp_unavailable", message, retryable: cause !== undefined, cause });
}

function toolOf(client: McpClient, { name, description, inputSchema }: McpTool): Tool<JsonObject> {
  return {
    ...(description === undefined ? {} : { description }),
    inputSchema: jsonSchema<JsonObject>(inputSchema),
    repeatable: false,
    execute: (input, options) => callTool(client, name, input, options),
  };
}

/** Keeps the fields of a result that a model is shown. A server may add others. */
async function callTool(
  client: McpClient,
  name: string,
  input: JsonObject,
  { abortSignal }: ToolOptions,
): Promise<unknown> {
  const options = { signal: abortSignal, timeout: MAX_TIMEOUT_MS };
  // In version 2 the options are the second parameter. Version 1 has a parameter with a default there, which length leaves out.
  const more = client.callTool.length === 2 ? [options] : [undefined, options];
  const result = await Reflect.apply(client.callTool, client, [{ name, arguments: input }, ...more]);
  if (!isPlainObject(result)) return result;
  const { content, isError, structuredContent, toolResult } = result;
  if (content === undefined && structuredContent === undefined && toolResult !== undefined) return toolResult;
  const empty = Array.isArray(content) && content.length === 0 && structuredContent === undefined && isError !== true;
  return empty ? "" : mcpResult({ content: content ?? [], isError: isError === true, structuredContent });
}

function freeName(name: string, taken: object): string {
  const legal = name.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "tool";
  const plain = legal === "__proto__" ? "proto" : legal; // setting this field would set the prototype
  if (!Object.hasOwn(taken, plain)) return plain;
  for (let count = 2; ; count++) {
    const suffix = `_${count}`;
    const next = plain.slice(0, 64 - suffix.length) + suffix;
    if (!Object.hasOwn(taken, next)) return next;
  }
}
