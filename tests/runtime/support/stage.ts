import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { expect } from "vitest";
import { type Clockwork, clockwork } from "./clockwork.ts";
import {
  type AgentConfig,
  type AgentEvent,
  type AgentRequest,
  AgentServer,
  type AnyAgent,
  defineAgent,
  type Entry,
  memoryStore,
  RequestError,
  rebuildCall,
  type ServerOptions,
  type Thread,
  type ThreadStore,
  type Tools,
  validateMessages,
} from "./heddle.ts";

type Config = Partial<AgentConfig<Tools, never>>;

/** Where agents play: one store, one clock, servers that start, stop and start again. */
export interface Stage extends Clockwork {
  readonly store: ThreadStore;
  readonly threadId: string;
  readonly warnings: string[];
  start(
    config?: Config & { readonly script?: readonly ScriptedStep[] },
    options?: Partial<ServerOptions<AnyAgent>>,
  ): Promise<AgentServer>;
  log(): Promise<readonly Entry[]>;
}

export interface StageOptions {
  /** What stands between the agents and the store. */
  readonly around?: (store: ThreadStore) => ThreadStore;
  /** The store, or a function that opens it with the clock. Default: a new one in memory. */
  readonly store?: ThreadStore | ((at: { readonly clock: () => number }) => ThreadStore | undefined);
}

export async function stage({ around = (store) => store, store: given }: StageOptions = {}): Promise<Stage> {
  const clock = clockwork();
  const bare = (typeof given === "function" ? given(clock.ports) : given) ?? memoryStore({ clock: clock.ports.clock });
  await bare.load("warm_up"); // loads what is loaded on demand
  await import("../../../src/runtime/server/start.ts");
  const store = around(bare);
  const warnings: string[] = [];
  const threadId = "thread_t";
  return {
    ...clock,
    store,
    threadId,
    warnings,
    start: ({ script = [], ...config } = {}, options = {}) => {
      const model = config.model ?? scriptedModel(script, { after: clock.ports.after });
      const agent = defineAgent({ ...config, model } as AgentConfig) as AnyAgent; // its types do not matter here
      const warn = (message: string) => void warnings.push(message);
      const start = AgentServer.start({ agent, store, threadId, ports: clock.ports, warn, ...options });
      return clock.end(start);
    },
    log: async () => (await bare.load(threadId))?.toArray() ?? [],
  };
}

/** Every event of a request, which ends in time. */
export async function eventsOf(
  request: AgentRequest,
  options?: { readonly until: "waiting" },
): Promise<readonly AgentEvent[]> {
  const events: AgentEvent[] = [];
  for await (const event of request.events(options)) events.push(event);
  return events;
}

const TERMINAL: readonly string[] = [
  "request_completed",
  "request_failed",
  "request_cancelled",
  "request_suspended", // the last event in this process
];

/** Numbers without gaps, and exactly one last event. */
export function expectWhole(events: readonly AgentEvent[], from = 1): void {
  expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + from));
  const terminal = events.flatMap(({ kind }, index) => (TERMINAL.includes(kind) ? [index] : []));
  expect(terminal).toEqual([events.length - 1]);
}

/** Every call that a thread tells of is rebuilt and proven, and its log is legal for every provider. */
export async function proveAll(store: ThreadStore, threadId: string): Promise<number> {
  const thread = await store.load(threadId);
  const calls = (thread?.toArray() ?? []).flatMap(({ refs, payload }) =>
    "call" in payload && refs.callId !== undefined ? [refs.callId] : [],
  );
  for (const callId of calls) {
    const { proven, messages } = await rebuildCall(store, threadId, callId);
    expect(proven).toBe(true);
    for (const provider of ["openai-chat", "openai-responses", "anthropic", "gemini"] as const) {
      expect(validateMessages(messages, provider)).toEqual([]);
    }
  }
  return calls.length;
}

/** The error of a request, which has to be a RequestError. */
export async function failureOf(promise: Promise<unknown>): Promise<RequestError> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!RequestError.isInstance(error)) throw error ?? new Error("It did not fail.");
  return error;
}

/** What a log holds, in short. */
export function told(entries: Thread | readonly Entry[]): readonly string[] {
  const list = "toArray" in entries ? (entries as Thread).toArray() : (entries as readonly Entry[]);
  return list.map(({ kind, payload }) => {
    const { role, toolCallId, content, end, steer, toolCalls } = payload as Record<string, unknown>;
    const ending = end === undefined ? "" : ` end:${(end as { status: string }).status}`;
    if (kind !== "ai_message") return `${kind}${typeof toolCallId === "string" ? ` ${toolCallId}` : ""}${ending}`;
    if (role === "tool") return `result ${toolCallId}`;
    if (role === "user") return `${steer ?? "ask"} ${textOf(content)}`;
    const calls = (toolCalls as readonly { id: string }[] | undefined)?.map(({ id }) => id) ?? [];
    return `${calls.length > 0 ? `calls ${calls.join(",")}` : `says ${textOf(content)}`}${ending}`;
  });
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  return (content as readonly { text?: string }[]).map(({ text }) => text ?? "").join("");
}

/** Something that another piece of code waits for. */
export function gate<Value = void>() {
  return Promise.withResolvers<Value>();
}

export const anything = { type: "object" } as const;
