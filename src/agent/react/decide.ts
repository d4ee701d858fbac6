import type { Signal } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { answered, notAnswered } from "./answer.ts";
import { asked } from "./ask.ts";
import { broken, cancelled, finished } from "./ending.ts";
import { operated } from "./operations.ts";
import { noticed, resumed } from "./resume.ts";
import { steered } from "./steering.ts";
import type { Step } from "./step.ts";
import { notSummarized, summarized } from "./summary.ts";
import { answerAsked, answeredOutside, approvalAsked, decided, resulted } from "./tools.ts";

/** What a ReAct agent makes of a signal. */
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
