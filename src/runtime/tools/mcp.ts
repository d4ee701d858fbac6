import { ToolError } from "../../agent/definition/errors.ts";
import { jsonSchema } from "../../agent/definition/schema.ts";
import { mcpResult, type Tool, type ToolOptions } from "../../agent/definition/tool.ts";
import { portableSha256 } from "../../thread/encoding.ts";
import { ignoreRejection } from "../../thread/errors.ts";
import { describe, isPlainObject, type JsonObject } from "../../thread/json.ts";
import { knownNames, refuseUnknownOptions } from "../../thread/options.ts";

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
  /** Hints of the server. Trust them as far as you trust the server. */
  readonly annotations?:
    | {
        readonly readOnlyHint?: boolean | undefined;
        readonly idempotentHint?: boolean | undefined;
        readonly destructiveHint?: boolean | undefined;
      }
    | undefined;
}

/** A choice of tools: all or none, by the names of the server, or by a function. */
type McpChoice = boolean | readonly string[] | ((tool: McpTool) => boolean);

/** How `mcpTools()` takes the tools of a server. */
export interface McpOptions {
  /** Put before every name, so that the tools of two servers have different names. Default "". */
  readonly prefix?: string | undefined;
  /** The tools that are taken. Default: all. */
  readonly allow?: McpChoice | undefined;
  /** The tools whose calls need approval. Default: those with `destructiveHint` and without `readOnlyHint`. */
  readonly approve?: McpChoice | undefined;
  /**
   * The hashes of the definitions that were approved, by the names of the server. A tool with another definition, or without a
   * hash, is a ToolError `mcp_tool_changed` that names its hash. Default: not checked.
   */
  readonly pin?: { readonly [name: string]: string } | undefined;
  /** The most tools. More are a ToolError `mcp_too_many_tools`. Default: no limit. */
  readonly maxTools?: number | undefined;
}

/** The longest timer. The timeout of the tool limits the call, so the client gets no shorter one. */
const MAX_TIMEOUT_MS = 2 ** 31 - 1;
const MAX_PAGES = 1_000;

/**
 * The current tools of an MCP server. Names that no provider accepts are changed, such as `files/read` to `files_read`. A tool
 * with `readOnlyHint` or `idempotentHint` is `repeatable`; other calls are never repeated. With a function that connects, a lost
 * server is connected again.
 *
 * @example
 * const client = {
 *   listTools: async () => ({ tools: [{ name: "time", inputSchema: { type: "object" } }] }),
 *   callTool: async () => ({ content: [{ type: "text", text: "12:00" }] }),
 * };
 * console.log(Object.keys(await mcpTools(client))); // [ 'time' ]
 */
export async function mcpTools(
  client: McpClient | (() => Promise<McpClient>),
  options: McpOptions = {},
): Promise<{ [name: string]: Tool<JsonObject> }> {
  refuseUnknownOptions("mcpTools", options, { prefix: true, allow: true, approve: true, pin: true, maxTools: true });
  const { prefix = "", allow = true, approve = isDestructive, pin, maxTools = Number.POSITIVE_INFINITY } = options;
  checkMcpOptions(options);
  const server = new McpServer(client);
  const served = await server.list();
  for (const [name, choice] of Object.entries({ allow, approve })) checkChoice(name, choice, served);
  const listed = served.filter((tool) => isChosen("allow", allow, tool));
  if (listed.length > maxTools) {
    const message = `The MCP server has ${listed.length} tools, and maxTools is ${maxTools}. Choose some with allow, or raise it.`;
    throw new ToolError({ code: "mcp_too_many_tools", message });
  }
  if (pin !== undefined) checkPins(listed, pin);
  const tools: { [name: string]: Tool<JsonObject> } = {};
  for (const tool of listed) {
    tools[freeName(`${prefix}${tool.name}`, tools)] = toolOf(server, tool, isChosen("approve", approve, tool));
  }
  return tools;
}

function isChosen(option: string, choice: McpChoice, tool: McpTool): boolean {
  if (typeof choice !== "function") return typeof choice === "boolean" ? choice : choice.includes(tool.name);
  const answer: unknown = choice(tool);
  if (typeof answer === "boolean") return answer;
  ignoreRejection(answer);
  throw invalid(option, `must return true or false for ${tool.name}, not ${describe(answer)}`);
}

/** Checks the options of callers without types. With a misread option, tools could run without an approval. */
function checkMcpOptions({ prefix, pin, maxTools }: McpOptions): void {
  if (prefix !== undefined && typeof prefix !== "string") throw invalid("prefix", "must be text");
  if (pin !== undefined && !isPlainObject(pin)) throw invalid("pin", "must be an object of hashes by name");
  if (maxTools === undefined || (typeof maxTools === "number" && maxTools >= 0)) return;
  throw invalid("maxTools", "must be a number from 0");
}

function checkChoice(option: string, choice: unknown, served: readonly McpTool[]): void {
  if (typeof choice === "boolean" || typeof choice === "function") return;
  if (!Array.isArray(choice)) {
    throw invalid(option, `must be true, false, a list of names or a function, not ${describe(choice)}`);
  }
  const names = served.map(({ name }) => name);
  const unknown: unknown = choice.find((name) => !names.includes(name));
  if (unknown === undefined && !choice.includes(undefined)) return;
  const given = typeof unknown === "string" ? JSON.stringify(unknown.toWellFormed()) : describe(unknown);
  const known = knownNames(typeof unknown === "string" ? unknown : "", names);
  throw invalid(option, `takes the names of the server, without the prefix, and it has no tool ${given}. ${known}`);
}

function invalid(option: string, trouble: string): ToolError {
  const message = `mcpTools: ${option} ${trouble}${trouble.endsWith(".") ? "" : "."}`;
  return new ToolError({ code: "invalid_options", path: option, message });
}

function isDestructive({ annotations }: McpTool): boolean {
  return annotations?.destructiveHint === true && annotations.readOnlyHint !== true;
}

function checkPins(tools: readonly McpTool[], pin: { readonly [name: string]: string }): void {
  const changed = tools.filter((tool) => !Object.hasOwn(pin, tool.name) || pin[tool.name] !== hashOf(tool));
  if (changed.length === 0) return;
  const hashes = Object.fromEntries(changed.map((tool) => [tool.name, hashOf(tool)]));
  throw changedTool(`Read the definitions, and approve them with pin: ${JSON.stringify(hashes)}.`);
}

function changedTool(advice: string): ToolError {
  const message = `The MCP server has definitions of tools that are new or have changed. ${advice}`;
  return new ToolError({ code: "mcp_tool_changed", message });
}

/** The hash of all fields that the model is shown or that decide on approvals. The order of keys does not matter. */
function hashOf({ name, description, inputSchema, annotations }: McpTool): string {
  const sorted = (_key: string, value: unknown): unknown =>
    isPlainObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
  return portableSha256(JSON.stringify([name, description ?? null, inputSchema, annotations ?? null], sorted));
}

interface Connection {
  readonly client: McpClient;
  readonly tools: readonly McpTool[];
}

/** The connection to a server. After it was lost, the next call connects again and checks the definitions. */
class McpServer {
  readonly #source: McpClient | (() => Promise<McpClient>);
  #connection: Promise<Connection> | undefined;

  constructor(source: McpClient | (() => Promise<McpClient>)) {
    this.#source = source;
  }

  async list(): Promise<readonly McpTool[]> {
    return (await this.#connect()).tools;
  }

  async call(tool: McpTool, input: JsonObject, options: ToolOptions): Promise<unknown> {
    for (let isFirst = true; ; isFirst = false) {
      const connection = this.#connect();
      const { client, tools } = await connection;
      const isSame = tools.includes(tool) || tools.some((other) => hashOf(other) === hashOf(tool));
      if (!isSame) throw changedTool(`The call of ${tool.name} did not run. Call mcpTools again.`);
      try {
        return await callTool(client, tool.name, input, options);
      } catch (cause) {
        if (typeof this.#source !== "function" || !isLost(cause)) throw cause;
        if (this.#connection === connection) this.#connection = undefined;
        if (isFirst && isUnsent(cause)) continue; // nothing was sent, so the call is not repeated
        throw unavailable("The connection was lost during the call. Whether the tool has acted is unknown.", cause);
      }
    }
  }

  /** Concurrent calls share one connection. */
  #connect(): Promise<Connection> {
    const connection = this.#connection ?? this.#open();
    this.#connection = connection;
    return connection;
  }

  async #open(): Promise<Connection> {
    try {
      const client = typeof this.#source === "function" ? await this.#source() : this.#source;
      return { client, tools: await allTools(client) };
    } catch (cause) {
      this.#connection = undefined;
      throw ToolError.isInstance(cause) ? cause : unavailable("Connecting failed. `cause` has the error.", cause);
    }
  }
}

/** The code of the SDKs for a connection that was closed. */
const CONNECTION_CLOSED = -32_000;

function isLost(error: unknown): boolean {
  const { code, name } = Object(error) as { readonly code?: unknown; readonly name?: unknown };
  if (name === "AbortError" || name === "TimeoutError") return false;
  const isSocket = typeof code === "string" && /^(ECONN|EPIPE|ENOTFOUND|ETIMEDOUT|UND_ERR)/.test(code);
  const isSession = code === 404 || code === CONNECTION_CLOSED;
  return isSocket || isSession || isUnsent(error) || (error instanceof TypeError && /fetch/.test(error.message));
}

function isUnsent(error: unknown): boolean {
  return error instanceof Error && /^not connected$/i.test(error.message);
}

async function allTools(client: McpClient): Promise<readonly McpTool[]> {
  const tools: McpTool[] = [];
  const seen = new Set<unknown>();
  let cursor: unknown;
  do {
    const page = await pageOf(client, cursor);
    tools.push(...checkedTools(page));
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

/** Checks a page of tools, because a server may send anything. */
function checkedTools(page: unknown): readonly McpTool[] {
  const list = isPlainObject(page) ? page["tools"] : undefined;
  if (!Array.isArray(list)) throw malformed("It has no list `tools`.");
  for (const [index, tool] of list.entries()) {
    const { name, description, inputSchema, annotations } = isPlainObject(tool) ? tool : {};
    if (typeof name !== "string" || name === "") throw malformed(`tools[${index}].name is no text.`);
    if (description !== undefined && typeof description !== "string")
      throw malformed(`tools[${index}].description is no text.`);
    if (!isPlainObject(inputSchema)) throw malformed(`tools[${index}].inputSchema is no object.`);
    if (annotations !== undefined && !isPlainObject(annotations))
      throw malformed(`tools[${index}].annotations is no object.`);
  }
  return list;
}

function malformed(trouble: string): ToolError {
  const message = `The list of tools of the MCP server is malformed. ${trouble} Report it to the maker of the server.`;
  return new ToolError({ code: "mcp_list_malformed", message });
}

function unavailable(trouble: string, cause?: unknown): ToolError {
  const message = `The MCP server cannot be used. ${trouble}`;
  return new ToolError({ code: "mcp_unavailable", message, retryable: cause !== undefined, cause });
}

function toolOf(server: McpServer, tool: McpTool, needsApproval: boolean): Tool<JsonObject> {
  const { description, inputSchema, annotations: { readOnlyHint, idempotentHint } = {} } = tool;
  return {
    ...(description === undefined ? {} : { description }),
    inputSchema: jsonSchema<JsonObject>(inputSchema),
    repeatable: readOnlyHint === true || idempotentHint === true,
    ...(needsApproval && { needsApproval }),
    execute: (input, options) => server.call(tool, input, options),
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
