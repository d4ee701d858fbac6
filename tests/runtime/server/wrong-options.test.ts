import { AgentHost, AgentServer, defineAgent, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";

const agent = defineAgent({ model: scriptedModel(["Done."]) });
const callbacks = ["context", "tools", "headers", "resolveTool", "resolveModel", "onError", "warn", "onNeedsSummary"];
const codeOf = async (work: () => unknown): Promise<unknown> => {
  try {
    return await work();
  } catch (error) {
    return Object(error).code;
  }
};

describe("values of a caller without types", () => {
  test.each(callbacks)("%s must be a function", async (name) => {
    const options = { agent, store: memoryStore(), [name]: { u: 2 } } as never;
    expect(await codeOf(() => AgentHost.create(options))).toBe("invalid_options");
    expect(await codeOf(() => AgentServer.start(options))).toBe("invalid_options");
  });

  test("waiting takes the two kinds, and an ask only a signal", async () => {
    const host = AgentHost.create({ agent, store: memoryStore() });
    expect(await codeOf(() => host.waiting({ kind: "approvals" } as never))).toBe("invalid_options");
    expect(await codeOf(() => host.waiting({ cursor: 3 } as never))).toBe("invalid_options");
    expect(await host.waiting({ kind: "approval" })).toEqual({ calls: [] });
    expect(await codeOf(() => host.ask("thread_1", "Go.", { signal: 3 } as never))).toBe("invalid_options");
    await host.stop();
    const server = await AgentServer.start({ agent, store: memoryStore() });
    expect(await codeOf(() => server.ask("Go.", { signal: {} } as never))).toBe("invalid_options");
    await server.stop();
  });

  test("models are models", async () => {
    const models = { big: "openai:gpt-5" } as never;
    expect(await codeOf(() => defineAgent({ model: scriptedModel([]), models }))).toBe("invalid_agent");
  });

  test.each([-1, Number.NaN])("a cost of %d is an unknown cost, and ends the request", async (price) => {
    const warnings: string[] = [];
    const spending = defineAgent({
      model: scriptedModel([{ calls: [{ name: "act" }] }, "Done."]),
      tools: { act: { inputSchema: { type: "object" }, execute: () => "ok" } },
      limits: { maxCostUsd: 9, costUsd: () => price },
    });
    const options = { agent: spending, store: memoryStore(), warn: (text: string) => void warnings.push(text) };
    const server = await AgentServer.start(options);
    expect((await (await server.ask("Go.")).result).terminationReason).toBe("limit");
    expect(warnings.join()).toContain("no number from 0");
    await server.stop();
  });
});
