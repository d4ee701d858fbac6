import { isPlainObject } from "../../thread/json.ts";
import { checkName } from "../../thread/options.ts";
import { unsupported } from "../errors.ts";
import { checkOptions, invalidOption } from "../options.ts";
import type { ThreadStore, UsageOptions } from "../port.ts";
import { ASKS, dayOf, dayText, type UsageSum } from "../sums.ts";
import type { ModelPrice, ModelUsage, UsageDay } from "../usage-day.ts";
import type { StoreContext } from "./context.ts";

/** The last time that a Date can have. */
const MAX_TIME = 8.64e15;

/** `usage`: sums of asks and tokens. */
export function usageMethods(context: StoreContext): Pick<ThreadStore, "usage"> {
  return {
    async usage(options = {}) {
      const copy = checkOptions(options, ["owner", "threadId", "since", "until", "prices", "signal"]);
      const { owner, threadId, since = 0, until = MAX_TIME, prices = {} } = copy;
      for (const [name, value] of Object.entries({ owner, threadId })) if (value !== undefined) checkName(name, value);
      for (const [name, time] of Object.entries({ since, until }))
        if (!(Number.isSafeInteger(time) && time >= 0 && time <= MAX_TIME))
          throw invalidOption(name, "whole milliseconds since 1970");
      const priceOf = checkPrices(prices);
      context.checkOpen();
      const { driver } = context.withSignal(copy.signal);
      if (driver.usage === undefined) throw unsupported("usage", "usage");
      const sums = await driver.usage({ owner, threadId, from: dayOf(since), to: dayOf(until) });
      return daysOf(sums, priceOf);
    },
  };
}

const PRICES = ["input", "output", "cached", "cacheWrite"] as const;
type PriceOf = (model: string) => ModelPrice | undefined;

function checkPrices(prices: NonNullable<UsageOptions["prices"]>): PriceOf {
  if (!isPlainObject(prices)) throw invalidOption("prices", "a plain object");
  const checked = new Map(
    Object.entries(prices).map(([model, price]): [string, ModelPrice] => {
      const { input, output, cached = input, cacheWrite = input } = checkOptions(price, PRICES);
      const all = { input, output, cached, cacheWrite };
      for (const [name, value] of Object.entries(all))
        if (!(Number.isFinite(value) && value >= 0))
          throw invalidOption(`prices: ${model}: ${name}`, "a number from 0");
      return [model, all];
    }),
  );
  return (model) => checked.get(model);
}

function daysOf(sums: readonly UsageSum[], priceOf: PriceOf): readonly UsageDay[] {
  const days = Map.groupBy(
    sums.toSorted((a, b) => a.day - b.day || (a.model < b.model ? -1 : 1)),
    ({ day }) => day,
  );
  return [...days].map(([day, ofDay]) => ({
    day: dayText(day),
    asks: ofDay.find(({ model }) => model === ASKS)?.count ?? 0,
    models: ofDay.filter(({ model }) => model !== ASKS).map((sum) => modelUsage(sum, priceOf(sum.model))),
  }));
}

function modelUsage({ day: _, model, count: calls, ...tokens }: UsageSum, price: ModelPrice | undefined): ModelUsage {
  return { model, calls, ...tokens, ...(price && { cost: costOf(tokens, price) }) };
}

function costOf(
  { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens }: Omit<UsageSum, "day" | "model" | "count">,
  { input, output, cached = input, cacheWrite = input }: ModelPrice,
): number {
  const full = Math.max(0, inputTokens - cacheReadTokens);
  const written = Math.min(full, cacheWriteTokens);
  const ofCache = cacheReadTokens * cached + written * cacheWrite;
  return ((full - written) * input + ofCache + outputTokens * output) / 1_000_000;
}
