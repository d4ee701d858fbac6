import type { AnyAgent } from "../../agent/definition/config.ts";
import { AgentError } from "../../agent/definition/errors.ts";
import { nextAgent } from "../../agent/react/agent.ts";
import { handoffIn } from "../../agent/react/ask.ts";
import { isAsk } from "../../agent/react/restore.ts";
import { reactSettings } from "../../agent/react/settings.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import type { Thread } from "../../thread/thread.ts";
import type { RuntimePorts } from "../ports.ts";
import { RequestError } from "../request/request-error.ts";
import { loadAgent } from "../session/load.ts";
import { retryStore } from "../session/store-retry.ts";
import { agentsInTools } from "../tools/agent-tool.ts";
import { receiverOf } from "../tools/handoff.ts";
import type { HostOptions } from "./options.ts";

/** The agents of a host by name, with those that their tools ask. `only`: the one that was given, if it is the only one. */
export interface HostAgents<Agent extends AnyAgent> extends ReadonlyMap<string, Agent> {
  readonly only?: string | undefined;
}

/** The options are checked. An agent without a name gets its key as its name. */
export function agentsOf<Agent extends AnyAgent>({ agent, agents }: HostOptions<Agent>): HostAgents<Agent> {
  const list =
    agents === undefined
      ? [[agent.name, agent] as const]
      : Array.isArray(agents)
        ? agents.map((each: Agent) => [each.name, each] as const)
        : Object.entries(agents);
  const own = list.map(([name, each]) => [name, each.name === name ? each : Object.freeze({ ...each, name })] as const);
  const asked = own.flatMap(([, { tools }]) => agentsInTools(tools)) as Agent[]; // their threads are of their own, as those of any agent
  const all: ReadonlyMap<string, Agent> = new Map([...own, ...asked.map((each) => [each.name, each] as const), ...own]);
  const other = asked.find((each) => !isSame(all.get(each.name) ?? each, each));
  if (other !== undefined) throw twoAgents(other.name);
  for (const [name, { tools }] of all) {
    const lost = Object.values(tools).find((tool) => !all.has(receiverOf(tool)?.name ?? name));
    if (lost !== undefined) throw notServed(name, receiverOf(lost)?.name);
  }
  return Object.assign(all, { only: own.length === 1 ? own[0]?.[0] : undefined });
}

/** An agent that was given under a key is another object with the same tools. */
function isSame(a: AnyAgent, b: AnyAgent): boolean {
  return a === b || (a.tools === b.tools && a.model === b.model);
}

function notServed(name: string, receiver: string | undefined): AgentError {
  const message = `Agent ${JSON.stringify(name)} hands over to ${JSON.stringify(receiver)}, which this host does not serve.`;
  return new AgentError({ code: "invalid_agent", path: "handoff", message });
}

function twoAgents(name: string): AgentError {
  const message = `Two agents have the name ${JSON.stringify(name)}, and one of them is asked by a tool. Give each agent its own name.`;
  return new AgentError({ code: "invalid_agent", path: "agentTool", message });
}

/** The agent of a thread, and the one that it had first. */
export interface ThreadAgent {
  readonly name: string;
  readonly startedBy?: string | undefined;
}

/**
 * The agent that runs a thread: the one that its log names, else the one that the caller names, else the only one. A caller may
 * name the first agent of a thread that was handed over.
 */
export function chooseAgent<Agent extends AnyAgent>(
  agents: HostAgents<Agent>,
  threadId: string,
  asked: ThreadAgent | undefined,
  wanted: string | undefined,
): Agent {
  const name = asked?.name ?? wanted ?? agents.only;
  const served = [...agents.keys()].join(", ");
  if (name === undefined) {
    const message = `No ask of thread ${threadId} names its agent. Pass { agent } to \`ask\` or \`get\`: this host serves ${served}.`;
    throw new RequestError({ code: "agent_required", message });
  }
  const agent = agents.get(name);
  if (agent === undefined) {
    const whose = asked === undefined ? "" : `, which thread ${threadId} has`;
    const message = `This host serves ${served}, not agent ${JSON.stringify(name)}${whose}. Ask a host that serves it.`;
    throw new RequestError({ code: "unknown_agent", message });
  }
  if (wanted !== undefined && wanted !== name && wanted !== asked?.startedBy)
    throw agentMismatch(threadId, name, wanted);
  return agent;
}

/** Whether a thread has an agent that this host does not serve. */
export function isOfAnotherHost(error: unknown): boolean {
  return RequestError.isInstance(error) && error.code === "unknown_agent";
}

export function isAskedMeanwhile(error: unknown): boolean {
  return RequestError.isInstance(error) && error.code === "agent_mismatch" && error.retryable;
}

/** Whether nothing names the agent of a thread. */
export function isWithoutAgent(error: unknown): boolean {
  return RequestError.isInstance(error) && error.code === "agent_required";
}

/** `retryable`: an ask was written after the log was read and before the claim, so the next attempt finds its agent. */
export function agentMismatch(threadId: string, name: string, wanted: string, retryable = false): RequestError {
  const message = `Thread ${threadId} has the agent ${JSON.stringify(name)}, not ${JSON.stringify(wanted)}. Ask on another thread, or without { agent }.`;
  return new RequestError({ code: "agent_mismatch", retryable, message });
}

/** The agent of a thread as its newest ask or handoff names it. Asks of version 0.1 name none. */
export async function askedAgent(log: ThreadLog, threadId: string, loaded?: Thread): Promise<ThreadAgent | undefined> {
  const named = await lastOf(log, threadId, loaded, (entry) => isAsk(entry) || handoffIn(entry) !== undefined);
  const next = named && handoffIn(named);
  const ask = next === undefined ? named : await lastAsk(log, threadId, loaded);
  const { agent: asked, startedBy = asked } = (ask?.payload ?? {}) as { readonly [name: string]: unknown }; // payloads are JSON
  // Other calls of the answer that hands the thread over may be open.
  const running = async (agent: string): Promise<string> =>
    nextAgent(await loadAgent(log.store, threadId, reactSettings({ name: agent }), log.ports));
  const name = next === undefined ? asked : await running(next);
  if (typeof name !== "string") return undefined;
  return { name, ...(typeof startedBy === "string" && startedBy !== name && { startedBy }) };
}

interface ThreadLog {
  readonly store: ThreadStore;
  readonly ports: RuntimePorts;
}

/** The agent of an ask that waits for its time, on a thread without another ask. */
export async function waitingAgent({ store, ports }: ThreadLog, threadId: string): Promise<ThreadAgent | undefined> {
  const rows = await retryStore(ports, () => store.pending(threadId));
  const name = rows.findLast(({ type, body }) => type === "ask" && typeof body["agent"] === "string")?.body["agent"];
  return typeof name === "string" ? { name } : undefined;
}

/** A note continues a request. */
const KINDS = ["ai_message", "note"] as const;
/** The number of entries of the first query; later ones read more. It covers a request of one step. */
const FIRST = 8;
const GROWTH = 16;

/** The newest ask of a thread. Loaded entries are not read again. */
export function lastAsk(log: ThreadLog, threadId: string, loaded?: Thread): Promise<Entry | undefined> {
  return lastOf(log, threadId, loaded, isAsk);
}

async function lastOf(
  { store, ports }: ThreadLog,
  threadId: string,
  loaded: Thread | undefined,
  isWanted: (entry: Entry) => boolean,
): Promise<Entry | undefined> {
  const known = loaded?.filterByKind(KINDS, { partial: true }).findLast(isWanted);
  if (known !== undefined) return known;
  let before = loaded?.firstSeq ?? Number.MAX_SAFE_INTEGER;
  for (let limit = FIRST; before > 0; limit *= GROWTH) {
    const range = { toSeq: before - 1, reverse: true, kinds: KINDS, limit };
    const page = await retryStore(ports, () => Array.fromAsync(store.read(threadId, range)));
    const found = page.find(isWanted);
    if (found !== undefined || page.length < limit) return found;
    before = page.at(-1)?.seq ?? 0;
  }
  return undefined;
}
