// Measures one peer in this process and prints its numbers as JSON: measure.ts <peer> <job as JSON>

import { adk } from "../peers/projection/adk.ts";
import { aiSdk } from "../peers/projection/ai-sdk.ts";
import { langchain } from "../peers/projection/langchain.ts";
import { mastra } from "../peers/projection/mastra.ts";
import { openaiAgents } from "../peers/projection/openai-agents.ts";
import type { ContextPeer, Variant } from "../peers/projection/peer.ts";
import { reasonOf } from "../support/child.ts";
import { heddle } from "./heddle-peer.ts";
import { type BuildJob, type BuildNumbers, measureBuild } from "./measure-build.ts";
import { type CacheJob, type CacheNumbers, measureCache } from "./measure-cache.ts";
import { type IllegalJob, type IllegalNumbers, measureIllegal } from "./measure-illegal.ts";
import { plain } from "./plain.ts";

export type Job = BuildJob | CacheJob | IllegalJob;

/** The results of a job for a variant. */
export interface Numbers {
  readonly build: BuildNumbers;
  readonly cache: Readonly<Record<string, CacheNumbers>>;
  readonly illegal: IllegalNumbers;
}

export interface VariantNumbers<Table extends keyof Numbers> {
  readonly name: string;
  readonly fixed: boolean;
  readonly notes: readonly string[];
  readonly numbers?: Numbers[Table];
  /** Why there are no numbers. */
  readonly trouble?: string;
}

export interface PeerNumbers<Table extends keyof Numbers> {
  readonly packages: readonly string[];
  readonly variants: readonly VariantNumbers<Table>[];
}

const PEERS: Readonly<Record<string, () => Promise<ContextPeer>>> = {
  plain,
  heddle,
  langchain,
  "ai-sdk": aiSdk,
  mastra,
  "openai-agents": openaiAgents,
  adk,
};

if (import.meta.main) {
  const [which = "", text = ""] = process.argv.slice(2);
  const peer = await PEERS[which]?.();
  if (peer === undefined) throw new Error(`No peer is called ${which}.`);
  const numbers = await measure(peer, JSON.parse(text) as Job);
  // Beside whatever the peer itself prints.
  process.stdout.write(`\n${JSON.stringify(numbers)}\n`, () => process.exit(0));
}

async function measure({ packages, variants }: ContextPeer, job: Job): Promise<PeerNumbers<keyof Numbers>> {
  const measured: VariantNumbers<keyof Numbers>[] = [];
  for (const variant of variants) {
    if (!variant.tables.includes(job.table)) continue;
    const { name, fixed, notes = [] } = variant;
    measured.push({ name, fixed: fixed !== undefined, notes, ...(await tried(variant, job)) });
  }
  return { packages, variants: measured };
}

async function tried(variant: Variant, job: Job): Promise<Pick<VariantNumbers<keyof Numbers>, "numbers" | "trouble">> {
  try {
    return { numbers: await numbersOf(variant, job) };
  } catch (error) {
    return { trouble: reasonOf(error) };
  }
}

function numbersOf(variant: Variant, job: Job): Promise<Numbers[keyof Numbers]> {
  switch (job.table) {
    case "build":
      return measureBuild(variant, job);
    case "cache":
      return measureCache(variant, job);
    case "illegal":
      return measureIllegal(variant, job);
  }
}
