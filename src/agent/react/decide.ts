import type { Signal } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { answered, notAnswered } from "./answer.ts";
import { asked } from "./ask.ts";
import { broken, cancelled, finished, handedOver } from "./ending.ts";
import { nextCall } from "./next-call.ts";
import { operated } from "./operations.ts";
import { noticed, resumed } from "./resume.ts";
import { steered } from "./steering.ts";
import { inFlight, type Step, stay } from "./step.ts";
import { notSummarized, summarized } from "./summary.ts";
import { timeNoted } from "./time-limit.ts";
import { answerAsked, answeredOutside, approvalAsked, callOrEnd, decided, resulted } from "./tools.ts";

/**
 * Like `decide`, in two phases. This phase only makes the entries and runs no function of the caller, such as a projector,
 * a reader, a counter or `stopWhen`. When the entries are durable, `decideNext` decides the next step.
 */
export function decideDurable(agent: ReactAgent, signal: Signal): Step {
  if (signal.type === "ask") return decide(agent, signal); // an ask that does not fit must be refused before it is written
  const { agent: after, directives } = decide(phased(agent, true), signal);
  return { agent: phased(after, false), directives };
}

/** The second phase. Returns no directives when the first phase decided everything. */
export function decideNext(agent: ReactAgent): Step {
  const { next } = agent.flight;
  const { run } = agent.state;
  const step = inFlight(stay(agent), { next: undefined });
  if (next === undefined || run === undefined || run.runId !== agent.flight.runId) return step;
  return next === "call" ? nextCall(step, run) : callOrEnd(step, run);
}

function phased(agent: ReactAgent, isPhased: boolean): ReactAgent {
  return { ...agent, flight: { ...agent.flight, isPhased } };
}

/** Applies a signal to a ReAct agent. */
export function decide(agent: ReactAgent, signal: Signal): Step {
  switch (signal.type) {
    case "ask":
      return asked(agent, signal);
    case "resume":
      return resumed(agent, signal);
    case "notice":
      return noticed(agent);
    case "llm_result":
      return answered(agent, signal);
    case "llm_error":
      return notAnswered(agent, signal);
    case "tool_result":
      return resulted(agent, signal);
    case "approval_needed":
      return approvalAsked(agent, signal);
    case "answer_needed":
      return answerAsked(agent, signal);
    case "approve":
    case "deny":
      return decided(agent, signal);
    case "answer":
      return answeredOutside(agent, signal);
    case "steer":
      return steered(agent, signal);
    case "cancel":
      return cancelled(agent, signal);
    case "fail":
      return broken(agent, signal.failure);
    case "hand_over":
      return handedOver(agent, signal);
    case "worked":
      return timeNoted(agent, signal);
    case "finish":
      return finished(agent, signal);
    case "context_op":
      return operated(agent, signal.operation);
    case "summary_result":
      return summarized(agent, signal);
    case "summary_failed":
      return notSummarized(agent, signal);
    default:
      return signal satisfies never;
  }
}
