import { SYSTEM_PROMPT, TOOL } from "../../agent/conversation.ts";
import { instantModel, type Seen } from "../../agent/model.ts";
import { loadPeer, withVersion } from "../load.ts";
import type { AgentPeer } from "./peer.ts";

interface Generated {
  readonly text: string | PromiseLike<string>;
  readonly responseMessages: readonly object[] | PromiseLike<readonly object[]>;
}
interface Streamed extends Generated {
  consumeStream(): Promise<void>;
}
interface Agent {
  generate(options: { messages: readonly object[] }): Promise<Generated>;
  stream(options: { messages: readonly object[] }): Promise<Streamed>;
}
interface AISDK {
  readonly ToolLoopAgent: new (options: {
    model: unknown;
    instructions: string;
    tools: Readonly<Record<string, unknown>>;
  }) => Agent;
  tool(definition: object): unknown;
  jsonSchema(schema: object): unknown;
}

export const aiSdk = (): Promise<AgentPeer> => aiSdkBy("generate", (agent, messages) => agent.generate({ messages }));

export const aiSdkStreaming = (): Promise<AgentPeer> =>
  aiSdkBy("stream", async (agent, messages) => {
    const result = await agent.stream({ messages });
    await result.consumeStream();
    return result;
  });

type Run = (agent: Agent, messages: readonly object[]) => Promise<Generated>;

/** ToolLoopAgent, with the history in an array, as its documentation keeps it. */
async function aiSdkBy(way: string, run: Run): Promise<AgentPeer> {
  const { ToolLoopAgent, tool, jsonSchema } = await loadPeer<AISDK>("ai");
  return {
    name: `AI SDK ToolLoopAgent, ${way}`,
    packages: [withVersion("ai")],
    notes: way === "generate" ? ["History is an array in memory; nothing is stored and nothing is left out."] : [],
    async open(_folder, { usesTool }) {
      const seen: Seen = { messages: 0 };
      const { name, description, inputSchema, output } = TOOL;
      const weather = tool({ description, inputSchema: jsonSchema(inputSchema), execute: () => output });
      const agent = new ToolLoopAgent({
        model: instantModel(usesTool, seen),
        instructions: SYSTEM_PROMPT,
        tools: usesTool ? { [name]: weather } : {},
      });
      const all = new Map<string, object[]>();
      return {
        async begin(id) {
          const history: object[] = [];
          all.set(id, history);
          return {
            async ask(content) {
              history.push({ role: "user", content });
              const result = await run(agent, history);
              history.push(...(await result.responseMessages));
              return result.text;
            },
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
