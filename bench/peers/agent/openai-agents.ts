import { ANSWER, SYSTEM_PROMPT, TOOL } from "../../agent/conversation.ts";
import type { Seen } from "../../agent/model.ts";
import { loadPeer, withVersion } from "../load.ts";
import type { AgentPeer } from "./peer.ts";

interface Item {
  readonly type?: string;
}
interface Request {
  readonly input: string | readonly Item[];
}
interface Agents {
  readonly Agent: new (options: {
    name: string;
    instructions: string;
    model: object;
    tools: readonly unknown[];
  }) => object;
  readonly MemorySession: new () => object;
  readonly Usage: new (usage: object) => object;
  run(agent: object, input: string, options: { session: object }): Promise<{ finalOutput?: unknown }>;
  tool(definition: object): unknown;
  setTracingDisabled(disabled: boolean): void;
}

export async function openaiAgents(): Promise<AgentPeer> {
  const { Agent, MemorySession, Usage, run, tool, setTracingDisabled } = await loadPeer<Agents>("@openai/agents");
  setTracingDisabled(true);
  return {
    name: "OpenAI Agents MemorySession",
    packages: [withVersion("@openai/agents")],
    notes: ["Its session is in memory: it brings no other that needs no service. Tracing is off; nothing is left out."],
    async open(_folder, { usesTool }) {
      const seen: Seen = { messages: 0 };
      const agent = new Agent({
        name: "bench",
        instructions: SYSTEM_PROMPT,
        model: instantItems(usesTool, seen, Usage),
        tools: usesTool
          ? [
              tool({
                name: TOOL.name,
                description: TOOL.description,
                parameters: { ...TOOL.inputSchema, additionalProperties: false },
                strict: false,
                execute: () => TOOL.output,
              }),
            ]
          : [],
      });
      const all = new Map<string, object>();
      return {
        async begin(id) {
          const session = new MemorySession();
          all.set(id, session);
          return {
            ask: async (text) => String((await run(agent, text, { session })).finalOutput),
            end: async () => undefined,
          };
        },
        get seen() {
          return seen.messages;
        },
        durability: async () => "in memory",
        close: async () => all.clear(),
      };
    },
  };
}

/** The same answers in its own form of a model. */
function instantItems(usesTool: boolean, seen: Seen, Usage: Agents["Usage"]): object {
  let calls = 0;
  const message = () => ({
    type: "message",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: ANSWER }],
  });
  const call = () => ({
    type: "function_call",
    callId: `call_${calls++}`,
    name: TOOL.name,
    arguments: JSON.stringify(TOOL.input),
    status: "completed",
  });
  return {
    async getResponse({ input }: Request) {
      const items = typeof input === "string" ? [{}] : input;
      seen.messages = items.length;
      const calling = usesTool && items.at(-1)?.type !== "function_call_result";
      const usage = new Usage({ requests: 1, inputTokens: 100, outputTokens: 100, totalTokens: 200 });
      return { usage, output: [calling ? call() : message()] };
    },
    // biome-ignore lint/correctness/useYield: the bench does not stream
    async *getStreamedResponse() {
      throw new Error("The bench asks without streaming.");
    },
  };
}
