import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { AgentConfig, AgentRequest, RuntimePorts, Summarizer, ThreadStore, Tools } from "heddle";
import * as today from "heddle";
import { packEarlier } from "../../../scripts/pack-earlier.ts";

/** A runtime as the play uses it. Differences of the public API between the two commits are in this file only. */
export interface Runtime {
  readonly name: "earlier" | "today";
  memoryStore(clock: () => number): ThreadStore;
  toolError(message: string): Error;
  start(options: StartOptions): Promise<StoryServer>;
}

interface StartOptions {
  readonly config: Partial<AgentConfig<Tools, never>> & { readonly summarizer: Summarizer };
  readonly store: ThreadStore;
  readonly threadId: string;
  readonly ports: RuntimePorts;
}

/** Commands of a server. Each resolves to a text that says what became of it. */
export interface StoryServer {
  readonly request: AgentRequest | undefined;
  waiting(): Promise<readonly { readonly toolCallId: string; readonly name: string; readonly kind: string }[]>;
  ask(words: string): Promise<AgentRequest>;
  say(how: "steer" | "inject" | "followUp", words: string): Promise<string>;
  cancel(): Promise<string>;
  finish(): Promise<string>;
  decide(toolCallId: string, isYes: boolean): Promise<string>;
  answer(toolCallId: string, words: string): Promise<string>;
  reset(): Promise<string>;
  replace(words: string): Promise<string>;
  summarize(): Promise<string>;
  stop(graceMs: number): Promise<void>;
}

export const TODAY: Runtime = runtimeOf("today", today);

/** The runtime of the earlier commit, which is built when it is needed for the first time. */
export async function earlierRuntime(): Promise<Runtime> {
  const library = await import(pathToFileURL(join(packEarlier(), "index.js")).href);
  return runtimeOf("earlier", library as typeof today); // its public API is the same, except where this file says otherwise
}

function runtimeOf(name: Runtime["name"], library: typeof today): Runtime {
  return {
    name,
    memoryStore: (clock) => library.memoryStore({ clock }),
    toolError: (message) => new library.ToolError({ message, retryable: true, retryAfterMs: 20 }),
    async start({ config, ...options }) {
      const agent = library.defineAgent(config as AgentConfig); // its types do not matter here
      const warn = () => undefined;
      return serverOf(await library.AgentServer.start({ ...options, agent, warn, holder: "story" }));
    },
  };
}

type Server = Awaited<ReturnType<typeof today.AgentServer.start>>;

function serverOf(server: Server): StoryServer {
  return {
    get request() {
      return server.request;
    },
    waiting: async () => server.waiting(),
    ask: (words) => server.ask(words),
    async say(how, words) {
      const answer = await (how === "inject" ? server.inject(words, { source: "clock" }) : server[how](words));
      if (!answer.accepted) return `refused: ${answer.reason}`;
      const receipt = await answer.receipt;
      return receipt.delivered ? "delivered" : `dropped: ${receipt.reason}`;
    },
    cancel: async () => String(await server.cancel()),
    finish: async () => String(await server.finish()),
    async decide(toolCallId, isYes) {
      await (isYes ? server.approve(toolCallId, { by: "Ada" }) : server.deny(toolCallId, { reason: "Not today." }));
      return "decided";
    },
    async answer(toolCallId, words) {
      await server.answer(toolCallId, words);
      return "answered";
    },
    reset: async () => settled(await server.reset()),
    async replace(words) {
      const resultContext = { id: "replaced", entries: [{ role: "user", content: words }] } as const;
      return settled(await server.modifyContext({ operation: { type: "replace", reason: "manual", resultContext } }));
    },
    async summarize() {
      await server.summarize();
      return "summarized";
    },
    stop: (graceMs) => server.stop({ graceMs }),
  };
}

async function settled(answer: Awaited<ReturnType<Server["reset"]>>): Promise<string> {
  const { status } = await answer.settled;
  return `${answer.status}, ${status}`;
}
