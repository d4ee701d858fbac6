// Agents that do what a message says: its text is the plan, the tools to call, in order.
import type { AnyAgent } from "heddle";
import { defineAgent } from "../../src/agent/definition/define-agent.ts"; // bundled scripts get the sources

interface Asked {
  readonly prompt: readonly { readonly role: string; readonly content: unknown }[];
}

const USAGE = { inputTokens: { total: 3 }, outputTokens: { total: 2 } };
const anything = { type: "object" } as const;

/** Says its name, and calls the next tool of the plan, or says that it is done. */
function modelOf(name: string) {
  return {
    specificationVersion: "v4",
    provider: "plan",
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

/** Notes that a tool runs, so that it is known also when the process dies afterwards. */
type Record = (line: string) => void | Promise<void>;

function recorded(name: string, record: Record) {
  return async (_input: unknown, { toolCallId }: { readonly toolCallId: string }): Promise<string> => {
    await record(`${name} ${toolCallId}`);
    await new Promise((resolve) => setTimeout(resolve, 30 * Math.random()));
    return `${name} ran`;
  };
}

/** Has the tools `note`, `charge`, which must not run twice, and `pay`, which needs approval too. */
export function planAgent(name: string, record: Record): AnyAgent {
  const tools = {
    note: { inputSchema: anything, execute: recorded("note", record) },
    charge: { inputSchema: anything, repeatable: false, execute: recorded("charge", record) },
    pay: { inputSchema: anything, repeatable: false, needsApproval: true, execute: recorded("pay", record) },
  };
  const contextPolicy = { maxInputTokens: 32_000 };
  return defineAgent({ name, model: modelOf(name), tools, contextPolicy } as never); // the model is a plain object
}
