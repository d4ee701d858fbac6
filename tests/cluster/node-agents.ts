// The agents of a node of the cluster test. The text of a user is the plan: the tools to call, in order.
import { appendFileSync } from "node:fs";
import { defineAgent } from "../../src/agent/definition/define-agent.ts";

interface Asked {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
}

const USAGE = { inputTokens: { total: 3 }, outputTokens: { total: 2 } };
const anything = { type: "object" } as const;

/** Says its name, and calls the next tool of the plan, or says that it is done. */
function modelOf(name: string) {
  return {
    specificationVersion: "v4",
    provider: "cluster",
    modelId: name,
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("It streams.")),
    doStream: async ({ prompt }: Asked) => {
      const texts = prompt.map(({ role, content }) => (role === "user" ? JSON.stringify(content) : ""));
      const start = texts.findLastIndex((text) => text.includes("plan:"));
      const plan =
        /plan:((?: \w+)*)/
          .exec(texts[start] ?? "")?.[1]
          ?.trim()
          .split(" ") ?? [];
      const done = prompt.slice(start).filter(({ role }) => role === "tool").length;
      const tool = plan.filter((word) => word !== "")[done];
      return { stream: ReadableStream.from<object>(answer(name, tool)) };
    },
  };
}

async function* answer(name: string, tool: string | undefined): AsyncGenerator<object> {
  yield { type: "stream-start", warnings: [] };
  yield { type: "text-start", id: "0" };
  for (const word of [`I am ${name}, `, "and ", tool === undefined ? "done." : `call ${tool}.`]) {
    yield { type: "text-delta", id: "0", delta: word };
    await new Promise((resolve) => setTimeout(resolve, 20 * Math.random()));
  }
  yield { type: "text-end", id: "0" };
  if (tool !== undefined)
    yield { type: "tool-call", toolCallId: `c_${crypto.randomUUID()}`, toolName: tool, input: "{}" };
  const reason = tool === undefined ? "stop" : "tool-calls";
  yield { type: "finish", usage: USAGE, finishReason: { unified: reason, raw: reason } };
}

const runs = process.env["CLUSTER_RUNS"] ?? "";

/** Writes a line at each run, also when the process dies afterwards. */
function recorded(name: string) {
  return async (_input: unknown, { toolCallId }: { readonly toolCallId: string }): Promise<string> => {
    appendFileSync(runs, `${name} ${toolCallId}\n`);
    await new Promise((resolve) => setTimeout(resolve, 30 * Math.random()));
    return `${name} ran`;
  };
}

const tools = {
  note: { inputSchema: anything, execute: recorded("note") },
  charge: { inputSchema: anything, repeatable: false, execute: recorded("charge") },
  pay: { inputSchema: anything, repeatable: false, needsApproval: true, execute: recorded("pay") },
};

export const ann = defineAgent({ name: "ann", model: modelOf("ann"), tools } as never);
export const bob = defineAgent({ name: "bob", model: modelOf("bob"), tools } as never);

/** A dead node is noticed soon. */
export const host = { leaseTtlMs: 2_000 };
