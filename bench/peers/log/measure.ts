// Measures one peer in this process and prints the numbers as JSON: measure.ts <peer> <folder> <sizes as JSON>
import { mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { Baseline } from "../../log/baseline.ts";
import { heddle, heddleRelaxed } from "../../log/heddle-peer.ts";
import { PAYLOAD_BYTES, payloadOf, textOf } from "../../log/message.ts";
import { atOnce, oneByOne } from "../../support/lap.ts";
import { race } from "../../support/race.ts";
import { percentile } from "../../support/statistics.ts";
import { langgraph } from "./langgraph.ts";
import { mastra } from "./mastra.ts";
import { openaiAgents } from "./openai-agents.ts";
import type { Peer, PeerLog } from "./peer.ts";

/** In milliseconds, unless the name says otherwise. */
export interface PeerNumbers {
  readonly name: string;
  readonly packages: readonly string[];
  readonly notes: readonly string[];
  readonly durability: string;
  readonly appendP50: number;
  readonly appendP99: number;
  /** Median of the last tenth of the conversation. */
  readonly lastAppendsP50: number;
  readonly appendToBaseline: number;
  readonly conversationsPerSecond: number;
  readonly shortTailP50: number;
  readonly longTailP50: number;
  /** Undefined when nothing lies on disk. */
  readonly bytesToPayload: number | undefined;
}

export interface PeerSizes {
  readonly appends: number;
  readonly conversations: number;
  readonly appendsPerConversation: number;
  readonly tail: number;
  readonly short: number;
  readonly long: number;
}

const PEERS: Readonly<Record<string, () => Promise<Peer>>> = {
  heddle,
  "heddle-relaxed": heddleRelaxed,
  langgraph,
  mastra,
  "openai-agents": openaiAgents,
};

if (import.meta.main) {
  const [which = "", folder = "", sizes = ""] = process.argv.slice(2);
  const peer = await PEERS[which]?.();
  if (peer === undefined) throw new Error(`No peer is called ${which}.`);
  const numbers = await measure(peer, folder, JSON.parse(sizes) as PeerSizes);
  // Beside whatever the peer itself prints.
  process.stdout.write(`\n${JSON.stringify(numbers)}\n`, () => process.exit(0));
}

async function measure(peer: Peer, folder: string, sizes: PeerSizes): Promise<PeerNumbers> {
  const openIn = async (name: string): Promise<PeerLog> => {
    mkdirSync(join(folder, name));
    return peer.open(join(folder, name));
  };
  const { name, packages, notes } = peer;
  await warmUp(await openIn("warm-up"), sizes);
  const log = await openIn("appends");
  const appends = await measureAppends(log, new Baseline(join(folder, "baseline.db")), sizes);
  const durability = await log.durability();
  await log.close();
  const bytesToPayload = bytesIn(join(folder, "appends")) / (sizes.appends * PAYLOAD_BYTES) || undefined;
  const conversationsPerSecond = await measureConversations(await openIn("conversations"), sizes);
  const tails = await measureTails(await openIn("tails"), sizes);
  return {
    name,
    packages,
    notes,
    durability,
    ...appends,
    conversationsPerSecond,
    ...tails,
    bytesToPayload,
  };
}

async function warmUp(log: PeerLog, { tail }: PeerSizes): Promise<void> {
  for (let index = 0; index < 50; index += 1) await log.append("warm-up", index);
  for (let index = 0; index < 10; index += 1) await log.tail("warm-up", tail);
  await log.close();
}

async function measureAppends(log: PeerLog, baseline: Baseline, { appends }: PeerSizes) {
  const rounds = 20;
  const perRound = Math.ceil(appends / rounds);
  let appended = 0;
  let inserted = 0;
  const results = await race(
    {
      baseline: () => oneByOne(perRound, () => baseline.insert("baseline", inserted, payloadOf(inserted++))),
      peer: () => oneByOne(perRound, () => log.append("conversation", appended++)),
    },
    { rounds, warmup: 0 },
  );
  baseline.close();
  await mustEndWith(log, "conversation", appended - 1, Math.min(appends, 200));
  const lastTenth = results.peer.laps.slice(-rounds / 10).flatMap(({ each }) => each);
  return {
    appendP50: results.peer.p50,
    appendP99: results.peer.p99,
    lastAppendsP50: percentile(lastTenth, 0.5),
    appendToBaseline: results.peer.over(results.baseline),
  };
}

/** Appends per second, when many conversations are appended to at once. */
async function measureConversations(log: PeerLog, { conversations, appendsPerConversation }: PeerSizes) {
  const lap = await atOnce(conversations, appendsPerConversation, (conversation, index) =>
    log.append(`conversation_${conversation}`, index),
  );
  await log.close();
  return (lap.operations / lap.ms) * 1000;
}

async function measureTails(log: PeerLog, { tail, short, long }: PeerSizes) {
  await log.fill("short", short);
  await log.fill("long", long);
  await mustEndWith(log, "long", long - 1, tail);
  const results = await race(
    { short: () => oneByOne(1, () => log.tail("short", tail)), long: () => oneByOne(1, () => log.tail("long", tail)) },
    { rounds: 7, warmup: 1 },
  );
  await log.close();
  return { shortTailP50: results.short.p50, longTailP50: results.long.p50 };
}

/** A peer that does not give back what it took has not done the job. */
async function mustEndWith(log: PeerLog, conversation: string, last: number, count: number): Promise<void> {
  const texts = await log.tail(conversation, count);
  if (texts.length !== count) throw new Error(`It gave back ${texts.length} messages instead of ${count}.`);
  if (texts[0] !== textOf(last - count + 1) || texts.at(-1) !== textOf(last))
    throw new Error("It gave back other messages than it took.");
}

function bytesIn(folder: string): number {
  return readdirSync(folder).reduce((sum, name) => sum + statSync(join(folder, name)).size, 0);
}
