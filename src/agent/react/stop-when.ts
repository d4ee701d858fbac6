import type { CompletedExchange } from "../definition/stop-when.ts";
import type { Failure } from "../failure.ts";
import type { ReactAgent } from "./agent.ts";
import { outcomeOf } from "./results.ts";
import type { Run } from "./run.ts";

/** Whether the caller wants the run to end behind this exchange; a failure where nobody can tell. */
export function wantsToStop(agent: ReactAgent, run: Run): boolean | Failure {
  const { stopWhen = [] } = agent.settings;
  const conditions = typeof stopWhen === "function" ? [stopWhen] : stopWhen;
  if (conditions.length === 0) return false;
  const exchange = exchangeOf(agent, run);
  try {
    for (const condition of conditions) {
      const said: unknown = condition(exchange);
      if (said === true) return true;
      if (said instanceof Promise) said.catch(() => undefined); // nobody waits for it
      if (said !== false) return cannotTell("gave no answer at once: it must give true or false");
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
  return { code: "stop_when_failed", message: `The agent's stopWhen ${what}. The results that are in are kept.` };
}
