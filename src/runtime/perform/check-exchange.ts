import type { AnyAgent } from "../../agent/definition/config.ts";
import type { Check } from "../../agent/directive.ts";
import { addModelUsage, type Usage, type UsageByModel } from "../../agent/model-call.ts";
import type { Run } from "../../agent/react/state.ts";
import { exchangeOf, stopFailure } from "../../agent/react/tools.ts";
import type { ExchangeVerdict, Signal } from "../../agent/signal.ts";
import type { LiveRequest } from "../request/request.ts";
import { RequestError } from "../request/request-error.ts";
import { noTelemetry } from "../telemetry/telemetry.ts";
import { type HookLimit, hookAnswer } from "../time-limits.ts";
import { hookLimitOf, type Scene } from "./scene.ts";

interface Checked {
  readonly signal: Extract<Signal, { type: "checked" }>;
  readonly thrown?: { readonly error: unknown; readonly code: string };
}

const STOP = { name: "stopWhen", code: "stop_when_failed" };
const PRICE = { ...STOP, name: "limits.costUsd" };

/** Whether the request ends after its exchange. The verdict is the next signal. An interrupted request ends anyway. */
export async function checkExchange(scene: Scene, { requestId }: Check, request: LiveRequest): Promise<Checked> {
  const limit = hookLimitOf(scene, request);
  const { run } = scene.agent().state;
  try {
    const isSpent = run !== undefined && (await exceedsCost(scene, run, run.usageByModel, limit));
    const verdict = isSpent ? "limit" : await stopVerdict(scene, limit);
    return answer(verdict === "continue" ? await handedOver(scene, run, limit) : verdict);
  } catch (error) {
    const { code } = STOP;
    if (!limit.signal?.aborted) scene.onError(error, { code, threadId: scene.threadId, requestId });
    const isLate = RequestError.isInstance(error) && error.code === code;
    const verdict = isLate ? { code, message: error.message } : stopFailure("threw an error");
    return { ...answer(verdict), thrown: { error, code } };
  }
}

function answer(verdict: ExchangeVerdict): Checked {
  return { signal: { type: "checked", verdict } };
}

/** Gives the request to the agent that it was handed to, if it does not have it yet. */
async function handedOver({ agent, handOff }: Scene, run: Run | undefined, limit: HookLimit): Promise<ExchangeVerdict> {
  const { name } = agent().settings;
  const next = run?.handedTo?.agent ?? name;
  if (next === name) return "continue";
  if (handOff?.serves(next)) return (await handOff.change(next, limit.signal)) ?? "continue";
  const message = `The request was handed to agent ${JSON.stringify(next)}, which this process does not serve.`;
  return { code: "unknown_agent", message };
}

async function stopVerdict({ definition, agent }: Scene, limit: HookLimit): Promise<ExchangeVerdict> {
  const { stopWhen = [] } = definition;
  const { run } = agent().state;
  if (run === undefined) return "continue";
  const exchange = exchangeOf(agent(), run);
  for (const condition of typeof stopWhen === "function" ? [stopWhen] : stopWhen) {
    const verdict: unknown = await hookAnswer(limit, STOP, () => condition(exchange));
    if (verdict === true) return "stopped";
    if (verdict !== false) return stopFailure("did not return true or false");
  }
  return "continue";
}

/** Whether the request has reached its cost limit with the usage of a call. Computed only if another call may follow. */
export async function spentWith(
  scene: Scene,
  { model, usage }: { readonly model: string | undefined; readonly usage: Usage },
  signal: AbortSignal | undefined,
): Promise<{ readonly isSpent?: true }> {
  const { agent, ports, definition } = scene;
  const { run } = agent().state;
  if (run === undefined) return {};
  const limit = { ports, timeoutMs: definition.hookTimeoutMs, signal };
  const isSpent = await exceedsCost(scene, run, addModelUsage(run.usageByModel, model, usage), limit);
  return isSpent ? { isSpent } : {};
}

/** The cost of a call, for telemetry. Undefined where it is unknown, and where there is no telemetry. */
export async function costOf(
  { definition, telemetry, ports }: Scene,
  { model = "unknown", usage }: { readonly model: string | undefined; readonly usage: Usage },
  signal: AbortSignal,
): Promise<number | undefined> {
  const { costUsd } = definition.limits ?? {};
  if (costUsd === undefined || telemetry === noTelemetry || Object.keys(usage).length === 0) return undefined;
  try {
    const price: unknown = costUsd(usage, model);
    if (typeof price === "number") return price >= 0 ? price : undefined;
    if (signal.aborted) return undefined; // a cancel does not wait for a promise
    const limit = { ports, timeoutMs: definition.hookTimeoutMs, signal };
    const awaited: unknown = await hookAnswer(limit, PRICE, () => price);
    return typeof awaited === "number" && awaited >= 0 ? awaited : undefined;
  } catch {
    return undefined;
  }
}

/** The cost of a usage by the prices of the agent; not a number where it is unknown. */
async function pricesOf(
  costUsd: NonNullable<NonNullable<AnyAgent["limits"]>["costUsd"]>,
  byModel: UsageByModel,
  limit: HookLimit,
): Promise<number> {
  let sum = 0;
  try {
    for (const [model, usage] of Object.entries(byModel)) {
      const price: unknown = await hookAnswer(limit, PRICE, () => costUsd(usage, model));
      sum += typeof price === "number" && price >= 0 ? price : Number.NaN;
    }
  } catch {
    return Number.NaN;
  }
  return sum;
}

/** The cost of a usage so far. Undefined where it is unknown. */
export async function spentOf(
  { definition, ports }: Scene,
  byModel: UsageByModel,
  signal: AbortSignal,
): Promise<number | undefined> {
  const { costUsd } = definition.limits ?? {};
  if (costUsd === undefined) return undefined;
  const sum = await pricesOf(costUsd, byModel, { ports, timeoutMs: definition.hookTimeoutMs, signal });
  return Number.isNaN(sum) ? undefined : sum;
}

/** Whether the usage costs at least `maxCostUsd`. An unknown cost does, because it could be any amount. */
async function exceedsCost(
  { definition, warn }: Scene,
  { options }: Pick<Run, "options">,
  byModel: UsageByModel,
  limit: HookLimit,
): Promise<boolean> {
  const { costUsd, maxCostUsd } = { ...definition.limits, ...options.limits };
  if (costUsd === undefined || maxCostUsd === undefined) return false;
  const sum = await pricesOf(costUsd, byModel, limit);
  if (!Number.isNaN(sum)) return sum >= maxCostUsd;
  if (!limit.signal?.aborted) {
    warn(
      "limits.costUsd threw, was late or gave no number from 0: what a request has cost is unknown, so that it makes no further call.",
    );
  }
  return true;
}
