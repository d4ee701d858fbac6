import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { JsonObject, ThreadStore } from "heddle";
import { memoryStore } from "heddle";
import { expect, onTestFinished } from "vitest";
import type { AgentConfig } from "../../../../src/agent/definition/config.ts";
import { defineAgent } from "../../../../src/agent/definition/define-agent.ts";
import { defineTool } from "../../../../src/agent/definition/tool.ts";
import type { AgentEvent } from "../../../../src/agent/event.ts";
import { rebuildCall } from "../../../../src/runtime/calls/rebuild-call.ts";
import { callModel } from "../../../../src/runtime/model/call.ts";
import type { AgentRequest } from "../../../../src/runtime/request/request.ts";
import { AgentServer } from "../../../../src/runtime/server/agent-server.ts";
import { type ApiName, type ProtocolServer, startProtocolServer } from "../../../support/protocol/server.ts";
import type { ProtocolOptions } from "../../../support/protocol/world.ts";
import { modelAt } from "./models.ts";
import { THREAD } from "./thread.ts";
import { Timers } from "./timers.ts";

/** An agent on a real package, and the provider that it speaks to. */
export interface Stage {
  readonly provider: ProtocolServer;
  readonly store: ThreadStore;
  readonly timers: Timers;
  readonly model: LanguageModelV4;
  readonly api: ApiName;
  readonly streaming: boolean;
  readonly warnings: string[];
  /** Starts the agent, also again, with other settings. */
  start(config?: Partial<AgentConfig>): Promise<AgentServer>;
}

interface Setting {
  readonly api: ApiName;
  readonly streaming: boolean;
  readonly options?: ProtocolOptions;
  readonly store?: ThreadStore;
  /** Another model than the usual one. */
  readonly name?: string;
}

export async function stage({ api, streaming, options, store = memoryStore(), name }: Setting): Promise<Stage> {
  const provider = await startProtocolServer(options);
  const model = modelAt(provider.url, api, name === undefined ? {} : { name });
  const timers = new Timers();
  const warnings: string[] = [];
  const running: AgentServer[] = [];
  onTestFinished(async () => {
    for (const server of running) await server.stop({ graceMs: 0 });
    await provider.stop();
  });
  const start = async (config: Partial<AgentConfig> = {}): Promise<AgentServer> => {
    const contextPolicy = { maxInputTokens: 8000 }; // of some of these models the table knows none
    const agent = defineAgent({
      model,
      systemPrompt: "Be brief.",
      streaming,
      tools: WEATHER,
      contextPolicy,
      ...config,
    });
    const server = await AgentServer.start({
      agent,
      store,
      threadId: THREAD,
      ports: timers.ports,
      leaseTtlMs: 60_000,
      warn: (message) => void warnings.push(message),
    });
    running.push(server);
    return server;
  };
  return { provider, store, timers, model, api, streaming, warnings, start };
}

/** Asks, and gives the events with the result. */
export async function told(request: AgentRequest): Promise<readonly AgentEvent[]> {
  return Array.fromAsync(request.events());
}

export const WEATHER = {
  weather: defineTool({
    description: "The weather of a city.",
    inputSchema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
    repeatable: true,
    execute: async (input: unknown) => `Sunny in ${(input as { readonly city: string }).city}.`,
  }),
};

export function weatherIn(city: string, id?: string): { name: string; arguments: { city: string }; id?: string } {
  return { name: "weather", arguments: { city }, ...(id !== undefined && { id }) };
}

/** No request was refused, and no package had anything to complain of. */
export function expectAccepted({ provider, warnings }: Pick<Stage, "provider" | "warnings">): void {
  expect(warnings).toEqual([]);
  expect(provider.requests.map(({ violation }) => violation)).toEqual(provider.requests.map(() => undefined));
}

/** Calls that write summaries are no calls of the agent. */
const SUMMARIZER_PROMPT = "You write the summary of a conversation";

/**
 * Every recorded call of the thread is made again from the log, and the package, given what comes out, writes the very
 * body that the provider had got; and no request came of anything else.
 */
export async function proveBodies({
  provider,
  store,
  model,
  streaming,
}: Pick<Stage, "provider" | "store" | "model" | "streaming">): Promise<number> {
  const bodies = provider.requests
    .map(({ body }) => JSON.stringify(body))
    .filter((body) => !body.includes(SUMMARIZER_PROMPT));
  const proven = new Set<string>();
  let calls = 0;
  for (const callId of await callsOf(store)) {
    const { messages, toolSpec, settings, record, proven: isProven } = await rebuildCall(store, THREAD, callId);
    expect(isProven).toBe(true);
    const before = provider.requests.length;
    await callModel({
      ...{ model, messages, tools: toolSpec, settings, cache: true, streaming },
      staleThinking: record.view.thinkingStale !== undefined,
      ports: { clock: () => 0, monotonic: () => 0, ids: () => "id", after: () => () => undefined, random: () => 0 },
    }).catch(() => undefined); // what was refused is refused again, and nobody has to answer
    const body = JSON.stringify(provider.requests[before]?.body);
    expect(bodies).toContain(body);
    proven.add(body);
    calls++;
  }
  expect([...new Set(bodies)].filter((body) => !proven.has(body))).toEqual([]);
  return calls;
}

async function callsOf(store: ThreadStore): Promise<readonly string[]> {
  const ids: string[] = [];
  for await (const { payload, refs } of store.read(THREAD)) {
    if ((payload as JsonObject)["call"] !== undefined && refs.callId !== undefined) ids.push(refs.callId);
  }
  return ids;
}
