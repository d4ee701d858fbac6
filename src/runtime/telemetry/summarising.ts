import { HeddleError } from "../../thread/errors.ts";
import { SPAN_KIND } from "./api.ts";
import { agentAttributes } from "./attributes.ts";
import { Chat } from "./chat.ts";
import { Operation, type Telling } from "./operation.ts";
import type { SummarySpan, SummaryWork, TelemetryScene } from "./telemetry.ts";

/** The span of a summary: around the work of a summarizer, and in it, when a model is asked, one like any other call's. */
export function summarisingOf(telling: Telling, work: SummaryWork, scene: TelemetryScene): SummarySpan {
  const { range, requestId, model: named } = work;
  const { definition } = scene;
  const attributes = {
    "heddle.request.id": requestId,
    "heddle.summary.from_seq": range.fromSeq,
    "heddle.summary.to_seq": range.toSeq,
  };
  const operation = new Operation(telling, scene, {
    name: "heddle.summarize",
    kind: SPAN_KIND.internal,
    parent: telling.parentOf(requestId, scene),
    attributes: { ...agentAttributes(scene), ...attributes },
  });
  const model = named === undefined ? definition.model : definition.models?.[named];
  const isAsked = definition.summarizer === undefined && model !== undefined;
  const chat = isAsked ? new Chat(telling, scene, { model, attributes, parent: operation.context }) : undefined;
  return {
    within: (run) => (chat ?? operation).within(run),
    answered: (answer) => chat?.answered(answer),
    ended: () => operation.end(),
    failed: (error) => {
      if (operation.isEnded) return;
      const failure = failureOf(error);
      chat?.failed(failure); // when it has answered, this changes nothing
      operation.fail(failure);
      operation.end();
    },
  };
}

function failureOf(error: unknown): { readonly code: string; readonly message: string } {
  if (HeddleError.isInstance(error)) return { code: error.code, message: error.message };
  return { code: "_OTHER", message: "The summarizer threw an error." };
}
