import { describe, expect, test } from "vitest";
import { type McpClient, mcpTools } from "../../../src/runtime/tools/mcp.ts";
import { runTool } from "../../../src/runtime/tools/run-tool.ts";
import { toolSpecsOf } from "../../../src/runtime/tools/schemas.ts";
import { call, errorIn } from "./support/call.ts";

const inputSchema = { type: "object", properties: { path: { type: "string" } } };

interface Asked {
  readonly params: unknown;
  readonly options: { readonly signal: AbortSignal; readonly timeout: number } | undefined;
}

/** A client of the first version of the SDK: the options of a call come third. */
class ClientOne {
  readonly asked: Asked[] = [];
  readonly #names: readonly string[];
  readonly #answer: (name: string) => unknown;

  constructor(names: readonly string[], answer: (name: string) => unknown = () => ({ content: [] })) {
    this.#names = names;
    this.#answer = answer;
  }

  /** Two tools a page. */
  async listTools(params?: { cursor: string }): ReturnType<McpClient["listTools"]> {
    const from = Number(params?.cursor ?? 0);
    const tools = this.#names.slice(from, from + 2).map((name) => ({ name, description: `Does ${name}`, inputSchema }));
    return from + 2 < this.#names.length ? { tools, nextCursor: String(from + 2) } : { tools };
  }

  async callTool(params: { name: string }, _schema: unknown = {}, options?: Asked["options"]): Promise<unknown> {
    this.asked.push({ params, options });
    return this.#answer(params.name);
  }
}

/** Of the second: they come second. */
class ClientTwo extends ClientOne {
  override async callTool(params: { name: string }, options: unknown): Promise<unknown> {
    return super.callTool(params, {}, options as Asked["options"]);
  }
}

describe("the tools of an MCP server", () => {
  test("are listed page by page, in order, as specs", async () => {
    const tools = await mcpTools(new ClientOne(["read", "write", "list", "stat", "find"]));
    const specs = await toolSpecsOf(tools);
    expect(specs.map(({ name }) => name)).toEqual(["read", "write", "list", "stat", "find"]);
    expect(specs[0]).toEqual({ name: "read", description: "Does read", inputSchema });
  });

  test("never become what the tools inherit from", async () => {
    const tools = await mcpTools(new ClientOne(["time", "__proto__"]));
    expect(Object.getPrototypeOf(tools)).toBe(Object.prototype);
    expect(Object.keys(tools)).toEqual(["time", "proto"]);
    expect(Object.keys(Object.assign({}, tools))).toEqual(["time", "proto"]);
  });

  test("have names that every provider takes, each its own, and call the server by its own", async () => {
    const client = new ClientOne(["fs/read", "fs.read", "fs_read", "x".repeat(100), `${"x".repeat(100)}y`]);
    const tools = await mcpTools(client, { prefix: "a:" });
    const names = ["a_fs_read", "a_fs_read_2", "a_fs_read_3", `a_${"x".repeat(62)}`, `a_${"x".repeat(60)}_2`];
    expect(Object.keys(tools)).toEqual(names);
    await runTool(call({}, "a_fs_read_2"), { tools });
    expect(client.asked[0]?.params).toEqual({ name: "fs.read", arguments: {} });
  });

  test.each([
    ["1", ClientOne],
    ["2", ClientTwo],
  ])("of SDK %s are called with a signal, and the tool's timeout rules", async (_, Client) => {
    const client = new Client(["read"], () => ({ content: [{ type: "text", text: "inside" }] }));
    const result = await runTool(call({ path: "/a" }, "read"), { tools: await mcpTools(client) });
    expect(result).toMatchObject({ content: "inside", isError: false });
    expect(client.asked).toEqual([
      {
        params: { name: "read", arguments: { path: "/a" } },
        options: { signal: expect.any(AbortSignal), timeout: 2 ** 31 - 1 },
      },
    ]);
  });

  test.each([
    ["an error", { content: [{ type: "text", text: "no such file" }], isError: true }, "no such file", true],
    ["nothing", { content: [] }, "", false],
    ["fields of its own", { content: [{ type: "text", text: "a" }], resultType: "complete", _meta: {} }, "a", false],
    ["only structure", { content: [], structuredContent: { n: 1 } }, '{"n":1}', false],
    ["a result of before 2025", { toolResult: [1] }, "[1]", false],
    ["a list of nothing known", "odd", "odd", false],
  ])("may give %s", async (_, answer, content, isError) => {
    const tools = await mcpTools(new ClientOne(["read"], () => answer));
    expect(await runTool(call({}, "read"), { tools })).toMatchObject({ content, isError });
  });

  test("that fail on the way are errors of the tool", async () => {
    const tools = await mcpTools(new ClientOne(["read"], () => Promise.reject(new Error("Connection closed"))));
    expect(errorIn(await runTool(call({}, "read"), { tools })).message).toBe("Connection closed");
  });

  test("stop when the request does", async () => {
    const controller = new AbortController();
    let signal: AbortSignal | undefined;
    const client = new ClientOne(["read"], () => {
      signal = client.asked[0]?.options?.signal;
      controller.abort();
      return Promise.reject(new Error("aborted"));
    });
    const result = await runTool(call({}, "read"), { tools: await mcpTools(client), signal: controller.signal });
    expect(result.failure?.code).toBe("tool_aborted");
    expect(signal?.aborted).toBe(true);
  });
});

describe("a server that cannot list its tools", () => {
  test("is an error with its cause, which may pass", async () => {
    const cause = new Error("down");
    const client = { listTools: () => Promise.reject(cause), callTool: async () => null };
    await expect(mcpTools(client)).rejects.toMatchObject({ code: "mcp_unavailable", retryable: true, cause });
  });

  test("without an end is an error", async () => {
    const client = { listTools: async () => ({ tools: [], nextCursor: "again" }), callTool: async () => null };
    await expect(mcpTools(client)).rejects.toMatchObject({ code: "mcp_unavailable", retryable: false });
    let page = 0;
    const growing = { ...client, listTools: async () => ({ tools: [], nextCursor: String(page++) }) };
    await expect(mcpTools(growing)).rejects.toThrow("never ends");
  });
});
