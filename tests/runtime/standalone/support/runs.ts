import { type AgentEvent, type AnyAgent, defineAgent, react, type ThreadStore, type Tools } from "heddle";
import { type ScriptedModel, type ScriptedStep, scriptedModel } from "heddle/testing";
import { expect } from "vitest";

export const SECRET = "a secret of at least 32 bytes....";
export const anything = { type: "object" } as const;

export interface Adder {
  readonly tools: { readonly add: Tools[string] };
  /** The ids of the calls that were run. */
  readonly ran: string[];
}

/** A tool that says 4 and remembers who called it. */
export function adder(change: Partial<Tools[string]> = {}): Adder {
  const ran: string[] = [];
  const execute = (_input: unknown, { toolCallId }: { readonly toolCallId: string }): string => {
    ran.push(toolCallId);
    return "4";
  };
  return { ran, tools: { add: { inputSchema: anything, execute, ...change } as Tools[string] } };
}

export const CALL = { calls: [{ id: "call_a", name: "add", arguments: { a: 2, b: 2 } }] } as const;

export type Config = Partial<Parameters<typeof defineAgent>[0]>;

export interface Cast {
  readonly agent: AnyAgent;
  readonly model: ScriptedModel;
}

/** An agent that follows a script. */
export function cast(script: readonly ScriptedStep[], config: Config = {}): Cast {
  const model = scriptedModel(script);
  const agent = defineAgent({ name: "clerk", tokenSecret: SECRET, ...config, model } as Parameters<
    typeof defineAgent
  >[0]) as AnyAgent;
  return { agent, model };
}

export async function all(events: AsyncIterable<AgentEvent>): Promise<readonly AgentEvent[]> {
  const list: AgentEvent[] = [];
  for await (const event of events) list.push(event);
  return list;
}

export function tokensIn(events: readonly AgentEvent[], reason?: string): readonly string[] {
  return events.flatMap((event) =>
    event.kind === "checkpoint" && (reason === undefined || event.data.reason === reason) ? [event.data.token] : [],
  );
}

/** Reads a stream up to a checkpoint of this reason and leaves it there; answers its token. */
export async function stoppedAt(
  reason: "after_llm" | "after_tools",
  agent: AnyAgent,
  options: { readonly store?: ThreadStore; readonly threadId?: string } = {},
): Promise<string> {
  for await (const event of react.stream("What's 2+2?", agent, options)) {
    if (event.kind === "checkpoint" && event.data.reason === reason) return event.data.token;
  }
  throw new Error(`There was no checkpoint ${reason}.`);
}

export async function codeOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(Error);
  return (error as { readonly code?: string }).code ?? String(error);
}
