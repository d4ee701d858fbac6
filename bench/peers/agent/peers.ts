import { baseline } from "../../agent/baseline-peer.ts";
import {
  heddleHost,
  heddleMemory,
  heddleMemoryHost,
  heddleRelaxed,
  heddleReleasing,
  heddleSqlite,
  heddleWhole,
} from "../../agent/heddle-peer.ts";
import { aiSdk, aiSdkStreaming } from "./ai-sdk.ts";
import { langgraph } from "./langgraph.ts";
import { mastra } from "./mastra.ts";
import { openaiAgents } from "./openai-agents.ts";
import type { AgentPeer } from "./peer.ts";

const PEERS = {
  baseline,
  heddle: heddleSqlite,
  "heddle-relaxed": heddleRelaxed,
  "heddle-memory": heddleMemory,
  "heddle-whole": heddleWhole,
  "heddle-host": heddleHost,
  "heddle-memory-host": heddleMemoryHost,
  "heddle-releasing": heddleReleasing,
  "ai-sdk": aiSdk,
  "ai-sdk-stream": aiSdkStreaming,
  "openai-agents": openaiAgents,
  langgraph,
  mastra,
} as const satisfies Readonly<Record<string, () => Promise<AgentPeer>>>;

export type PeerName = keyof typeof PEERS;

/** The other projects. Their packages must be installed. */
export const OTHERS: readonly PeerName[] = ["ai-sdk", "ai-sdk-stream", "openai-agents", "langgraph", "mastra"];

/** A project by the name the bench has for it. */
export async function load(name: string): Promise<AgentPeer> {
  if (!isPeer(name)) throw new Error(`No peer is called ${name}.`);
  return PEERS[name]();
}

function isPeer(name: string): name is PeerName {
  return Object.hasOwn(PEERS, name);
}
