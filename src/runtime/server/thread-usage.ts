import type { AnyAgent } from "../../agent/definition/config.ts";
import { addModelUsage, addUsage, recordedCall, type Usage, type UsageByModel } from "../../agent/model-call.ts";
import { isAsk } from "../../agent/react/restore.ts";
import { StoreError } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { UsageDay } from "../../stores/usage-day.ts";

/** The usage of all requests of a thread, also of open and failed ones. */
export interface ThreadUsage {
  readonly asks: number;
  readonly usage: Usage;
  readonly usageByModel: UsageByModel;
  /** By `limits.costUsd` of the agent. Absent without it, and when a cost is unknown: below 0, or no number. */
  readonly costUsd?: number;
}

type Sums = Pick<ThreadUsage, "asks" | "usageByModel">;

/** Adds up what a thread has used: from the sums of the store, or from the log where it has none. */
export async function usageOfThread(
  store: ThreadStore,
  threadId: string,
  { limits }: Pick<AnyAgent, "limits">,
): Promise<ThreadUsage> {
  const { asks, usageByModel } = (await storedSums(store, threadId)) ?? (await loggedSums(store, threadId));
  const all = Object.entries(usageByModel);
  const usage = all.reduce<Usage>((sum, [, one]) => addUsage(sum, one), {});
  const { costUsd: costOf } = limits ?? {};
  const prices = costOf && (await Promise.all(all.map(([model, one]) => costOf(one, model))));
  const isKnown = prices?.every((price) => price >= 0); // false for NaN too
  const costUsd = isKnown ? prices?.reduce((sum, price) => sum + price, 0) : undefined;
  return { asks, usage, usageByModel, ...(costUsd !== undefined && { costUsd }) };
}

async function storedSums(store: ThreadStore, threadId: string): Promise<Sums | undefined> {
  try {
    const days = await store.usage({ threadId });
    return days.length === 0 ? undefined : sumsOf(days); // a thread of 0.1, or an imported one, has none
  } catch (error) {
    if (StoreError.isInstance(error) && error.code === "store_unsupported") return undefined;
    throw error;
  }
}

function sumsOf(days: readonly UsageDay[]): Sums {
  const asks = days.reduce((sum, day) => sum + day.asks, 0);
  const models = days.flatMap((day) => day.models);
  const add = (sum: UsageByModel, { model, calls: _calls, cost: _cost, ...usage }: (typeof models)[number]) =>
    addModelUsage(sum, model, usage);
  return { asks, usageByModel: models.reduce<UsageByModel>(add, {}) };
}

async function loggedSums(store: ThreadStore, threadId: string): Promise<Sums> {
  let asks = 0;
  let usageByModel: UsageByModel = {};
  for await (const entry of store.read(threadId)) {
    if (entry.kind === "ai_message" && isAsk(entry)) asks += 1;
    const { model, usage } = recordedCall(entry) ?? {};
    if (usage !== undefined) usageByModel = addModelUsage(usageByModel, model, usage);
  }
  return { asks, usageByModel };
}
