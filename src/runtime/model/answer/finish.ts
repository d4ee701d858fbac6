import type { ModelAnswer, ModelFinishReason, Usage } from "../../../agent/model-call.ts";
import { ModelError } from "../error.ts";
import type { Assembly } from "./assembly.ts";

/** What the provider said of the answer as a whole; without a finish reason it never said that it was complete. */
export interface AnswerEnd {
  readonly usage?: Usage;
  readonly finishReason?: ModelFinishReason;
  readonly response?: NonNullable<ModelAnswer["response"]>;
}

/** The answer, or a ModelError where it says nothing and the end tells why. */
export function answerOf(
  assembly: Assembly,
  { usage = {}, finishReason = "interrupted", response }: AnswerEnd,
): ModelAnswer {
  const said = assembly.said({ finished: finishReason !== "interrupted" });
  if (!saysSomething(said)) refuseSilence(finishReason);
  return { ...said, usage, finishReason, ...(response !== undefined && { response }) };
}

/** Thinking alone says nothing to anybody. */
function saysSomething({ content, toolCalls }: Pick<ModelAnswer, "content" | "toolCalls">): boolean {
  if (toolCalls.length > 0) return true;
  return typeof content === "string" ? content !== "" : content.some(({ type }) => type !== "thinking");
}

function refuseSilence(reason: ModelFinishReason): void {
  switch (reason) {
    case "interrupted":
      throw new ModelError({
        code: "model_stream_interrupted",
        message: "The model's stream ended before it said anything. Try again.",
        retryable: true,
      });
    case "content-filter":
      throw new ModelError({
        code: "model_refused",
        message: "The provider's filter stopped the answer before it said anything. Ask for something else.",
      });
    case "error":
      throw new ModelError({
        code: "model_error",
        message: "The model ended with an error and said nothing. Try again.",
        retryable: true,
      });
    default:
      return; // an empty answer is an answer
  }
}
