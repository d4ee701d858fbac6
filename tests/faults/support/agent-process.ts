/**
 * Runs an agent on a thread, tells its events and what it was told, and stops before or after one of its writes, for ever,
 * so that it can be killed there. Its argument is a JobOfAgent.
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import type { AgentRequest } from "../../../src/runtime/request/request.ts";
import { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import type { ThreadStore } from "../../../src/stores/port.ts";
import { WRITE_METHODS } from "../../../src/testing/fault-store/fault.ts";
import { HeddleError } from "../../../src/thread/errors.ts";
import { openAt } from "../../support/open-at.ts";
import { killableAgent, type Recover } from "./killable-agent.ts";

export interface JobOfAgent {
  readonly url: string;
  readonly tenant: string;
  readonly threadId: string;
  /** Where its tool leaves its lines. */
  readonly file: string;
  readonly recover: Recover;
  /** A lasting name takes over at once from itself; without one the claim of the dead has to run out. */
  readonly holder?: string;
  readonly leaseTtlMs: number;
  readonly claimWaitMs: number;
  /** So many asks, one after the other. */
  readonly asks: number;
  readonly stopAt?: { readonly write: number; readonly when: "before" | "after" };
}

const job = JSON.parse(process.argv[2] ?? "") as JobOfAgent;
const { url, tenant, threadId, file, recover, asks, stopAt } = job;
const store = stopping(await openAt(url, { tenant }));
const commands = createInterface({ input: process.stdin });
await attempt();
for await (const command of commands) {
  if (command === "again") await attempt();
  else process.exit();
}

async function attempt(): Promise<void> {
  try {
    const { leaseTtlMs, claimWaitMs, holder } = job;
    const agent = killableAgent(file, recover);
    const server = await AgentServer.start({ agent, store, threadId, leaseTtlMs, claimWaitMs, holder });
    tell({ started: server.threadId });
    if (server.request !== undefined) await follow(server.request);
    for (let ask = 0; ask < asks; ask++) {
      const request = await server.ask("Pay.");
      tell({ asked: request.id });
      await follow(request);
    }
    tell({ done: true });
  } catch (error) {
    if (!HeddleError.isInstance(error)) throw error;
    tell({ code: error.code });
  }
}

async function follow(request: AgentRequest): Promise<void> {
  for await (const { requestId, kind, seq } of request.events()) tell({ requestId, event: kind, seq });
  tell({ ended: request.id });
}

/** Counts writes, and never goes on from the one it is to stop at. */
function stopping(given: ThreadStore): ThreadStore {
  let writes = 0;
  return new Proxy(given, {
    get: (target, name) => {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== "function") return method;
      if (!(WRITE_METHODS as readonly PropertyKey[]).includes(name)) return method.bind(target);
      return async (...values: unknown[]) => {
        const write = ++writes;
        if (stopAt?.write === write && stopAt.when === "before") await forEver(write);
        const result: unknown = await method.apply(target, values);
        if (stopAt?.write === write && stopAt.when === "after") await forEver(write);
        return result;
      };
    },
  });
}

function forEver(write: number): Promise<never> {
  tell({ stopped: write });
  return new Promise(() => undefined);
}

function tell(what: object): void {
  writeSync(1, `${JSON.stringify(what)}\n`);
}
