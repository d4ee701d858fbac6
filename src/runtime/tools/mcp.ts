import { ToolError } from "../../agent/definition/errors.ts";
import { jsonSchema } from "../../agent/definition/schema.ts";
import { mcpResult, type Tool, type ToolOptions } from "../../agent/definition/tool.ts";
import { isPlainObject, type JsonObject } from "../../thread/json.ts";
import { refuseUnknownOptions } from "../../thread/options.ts";

/** An MCP client that is connected, of `@modelcontextprotocol/sdk` 1 or `@modelcontextprotocol/client` 2, by its shape. */
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
  /** Stands before every name, to keep the tools of two servers apart. Default "". */
  readonly prefix?: string | undefined;
}

/** The longest a timer can wait: how long a call may take is for the tool's own timeout to say. */
const LONGEST = 2 ** 31 - 1;
const MOST_PAGES = 1_000;

/**
 * The tools of an MCP server, as they are now. Names that no provider takes are rewritten, `files/read` to
 * `files_read`. Calls are never repeated; spread a tool with `repeatable: true` where that is safe.
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
    if (seen.has(cursor) || seen.size >= MOST_PAGES) throw unavailable("It lists its tools without an end.");
    seen.add(cursor);
  } while (cursor !== undefined && cursor !== null && cursor !== "");
  return tools;
}

async function pageOf(client: McpClient, cursor: unknown): ReturnType<McpClient["listTools"]> {
  try {
    return await (typeof cursor === "string" ? client.listTools({ cursor }) : client.listTools());
  } catch (cause) {
    throw unavailable("It does not list its tools; `cause` has its error.", cause);
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
    execute: (input, options) => called(client, name, input, options),
  };
}

/** A server may add fields to a result; only those that say something to a model are taken. */
async function called(
  client: McpClient,
  name: string,
  input: JsonObject,
  { abortSignal }: ToolOptions,
): Promise<unknown> {
  const options = { signal: abortSignal, timeout: LONGEST };
  // Version 2 takes the options second. Version 1 has a schema with a default value there, and length counts up to it.
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
  const plain = legal === "__proto__" ? "proto" : legal; // an object that gets this field inherits from it
  if (!Object.hasOwn(taken, plain)) return plain;
  for (let count = 2; ; count++) {
    const suffix = `_${count}`;
    const next = plain.slice(0, 64 - suffix.length) + suffix;
    if (!Object.hasOwn(taken, next)) return next;
  }
}
