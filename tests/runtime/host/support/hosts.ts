import {
  AgentHost,
  type AnyAgent,
  defineAgent,
  type HostOptions,
  memoryStore,
  systemRuntimePorts,
  type ThreadStore,
} from "heddle";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { type Clockwork, clockwork } from "../../support/clockwork.ts";

export const SECRET = "a secret of at least 32 bytes....";
export const anything = { type: "object" } as const;

export interface House extends Clockwork {
  readonly store: ThreadStore;
  readonly warnings: string[];
  host(options: Partial<HostOptions<AnyAgent>>): AgentHost;
  /** Whoever wants the thread now gets it: nobody holds it. */
  isFree(threadId: string): Promise<boolean>;
}

/** Time that passes by itself: signing and verifying takes some, and no virtual clock knows of it. */
export function realTime(): Clockwork {
  return {
    ports: systemRuntimePorts,
    pass: async () => undefined,
    settled: async () => undefined,
    end: (promise) => promise,
  };
}

/** A store and a clock, and hosts on them. */
export async function house(given?: ThreadStore, clock: Clockwork = clockwork()): Promise<House> {
  const store = given ?? memoryStore({ clock: clock.ports.clock });
  await store.load("warm_up"); // loads what is loaded on demand
  const warnings: string[] = [];
  return {
    ...clock,
    store,
    warnings,
    host(options) {
      const common = { store, ports: clock.ports, warn: (message: string) => void warnings.push(message) };
      return AgentHost.create({ ...common, ...options } as HostOptions<AnyAgent>); // with one agent or several
    },
    async isFree(threadId) {
      try {
        const { epoch } = await store.claim(threadId, { holder: "test", ttlMs: 1_000 });
        await store.release(threadId, epoch);
        return true;
      } catch {
        return false;
      }
    },
  };
}

export function agentOf(script: readonly ScriptedStep[], config: object = {}): AnyAgent {
  return defineAgent({ ...config, model: scriptedModel(script, { order: "any" }) }) as AnyAgent;
}

/** An agent whose tool needs approval; `ran` tells the calls that were run. */
export function careful(
  script: readonly ScriptedStep[],
  config: object = {},
): { readonly agent: AnyAgent; readonly ran: string[] } {
  const ran: string[] = [];
  const execute = (_: unknown, { toolCallId }: { readonly toolCallId: string }): string => {
    ran.push(toolCallId);
    return "paid";
  };
  const pay = { inputSchema: anything, needsApproval: true, execute };
  return { ran, agent: agentOf(script, { ...config, tools: { pay, ask: { inputSchema: anything } } }) };
}

export const PAY = { calls: [{ id: "call_p", name: "pay" }] } as const;
export const ASK = { calls: [{ id: "call_q", name: "ask" }] } as const;
