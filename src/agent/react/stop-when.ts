import type { CompletedExchange } from "../definition/stop-when.ts";
import type { Failure } from "../failure.ts";
import type { ReactAgent } from "./agent.ts";
import { outcomeOf } from "./results.ts";
import type { Run } from "./run.ts";

/** Whether `stopWhen` ends the run after this exchange. Returns a failure when a condition throws or is not synchronous. */
export function wantsToStop(agent: ReactAgent, run: Run): boolean | Failure {
  const { stopWhen = [] } = agent.settings;
  const conditions = typeof stopWhen === "function" ? [stopWhen] : stopWhen;
  if (conditions.length === 0) return false;
  const exchange = exchangeOf(agent, run);
  try {
    for (const condition of conditions) {
      const said: unknown = condition(exchange);
      if (said === true) return true;
      if (said instanceof Promise) said.catch(() => undefined); // avoid an unhandled rejection
      if (said !== false) return cannotTell("did not return true or false; it must be synchronous");
    }
    return false;
  } catch {
    return cannotTell("threw an error");
  }
}

function exchangeOf(agent: ReactAgent, run: Run): CompletedExchange {
  const { iteration, text, usage, usageByModel } = run;
  const toolCalls = run.calls.map(({ call }) => call);
  const results = toolCalls.map(({ id, name }) => ({ toolCallId: id, name, ...outcomeOf(agent, run, id) }));
  return { iteration, text, toolCalls, results, usage, usageByModel };
}

function cannotTell(what: string): Failure {
  return { code: "stop_when_failed", message: `The agent's stopWhen ${what}. The results so far are kept.` };
}
