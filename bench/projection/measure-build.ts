import type { Message } from "heddle";
import type { Conversation, Variant } from "../peers/projection/peer.ts";
import { median } from "../support/statistics.ts";
import { history, messageAt } from "./history.ts";
import { limitFor } from "./limit.ts";

/** How long a context takes from histories of these lengths. */
export interface BuildJob {
  readonly table: "build";
  readonly counts: readonly number[];
  readonly budget: number;
  /** The time limit of one call. A length at which a call would take longer is skipped. */
  readonly patienceMs: number;
}

export interface BuildNumbers {
  /** Milliseconds of a call at each length, up to where it was measured. */
  readonly ms: readonly number[];
  /** Messages in the context made of the first length. */
  readonly messages: number;
}

/** Spent on one length, unless a single call takes longer. */
const LAP_MS = 800;
const CALLS = 200;
const LAPS = 5;

export async function measureBuild(variant: Variant, { counts, budget, patienceMs }: BuildJob): Promise<BuildNumbers> {
  const shortest = history(counts[0] ?? 1000);
  const limit = await limitFor(variant, shortest, [shortest.length], budget);
  const ms: number[] = [];
  let messages = 0;
  if (variant.grows) await warmUp(variant, shortest, limit);
  for (const [index, count] of counts.entries()) {
    if (expected(ms, counts, index) > patienceMs) break;
    const conversation = variant.open(limit);
    await conversation.add(history(count));
    ms.push(variant.grows ? await whileGrowing(conversation, count) : await again(conversation));
    if (index === 0) messages = (await conversation.build())().length;
  }
  return { ms, messages };
}

/** On a conversation of its own, so that the short one stays short. */
async function warmUp(variant: Variant, messages: readonly Message[], limit: number): Promise<void> {
  const conversation = variant.open(limit);
  await conversation.add(messages);
  await whileGrowing(conversation, messages.length);
}

/** By the growth since the first length, which is at least linear; after a single length, as if with the square. */
function expected(ms: readonly number[], counts: readonly number[], index: number): number {
  const [first = 0, last = 0] = [ms[0], ms.at(-1)];
  const [shortest = 1, before = 1, count = 1] = [counts[0], counts[index - 1], counts[index]];
  const power = ms.length < 2 ? 2 : Math.max(1, Math.log(last / first) / Math.log(before / shortest));
  return last * (count / before) ** power;
}

/** The same conversation again and again: the median call, without the first. */
async function again(conversation: Conversation): Promise<number> {
  await settled(conversation);
  const once = await timed(conversation);
  if (once > LAP_MS) return once;
  const calls = Math.max(1, Math.floor(0.5 / once)); // a clock needs about half a millisecond
  const laps: number[] = [];
  for (const until = performance.now() + LAP_MS; performance.now() < until || laps.length < 3; ) {
    const started = performance.now();
    for (let call = 0; call < calls; call += 1) await settled(conversation);
    laps.push((performance.now() - started) / calls);
  }
  return median(laps);
}

/** One message more before each call, which is not counted: the mean call of the median lap. */
async function whileGrowing(conversation: Conversation, count: number): Promise<number> {
  await settled(conversation);
  const laps: number[] = [];
  let next = count;
  for (let lap = 0; lap < LAPS; lap += 1) {
    let ms = 0;
    for (let call = 0; call < CALLS; call += 1) {
      await conversation.add([messageAt(next++)]);
      ms += await timed(conversation);
    }
    laps.push(ms / CALLS);
  }
  return median(laps);
}

async function timed(conversation: Conversation): Promise<number> {
  const started = performance.now();
  const built = conversation.build();
  if (built instanceof Promise) await built;
  return performance.now() - started;
}

async function settled(conversation: Conversation): Promise<void> {
  const built = conversation.build();
  if (built instanceof Promise) await built;
}
