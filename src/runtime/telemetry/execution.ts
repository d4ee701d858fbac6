import type { ToolExec } from "../../agent/directive.ts";
import { SPAN_KIND } from "./api.ts";
import { agentAttributes, directiveAttributes } from "./attributes.ts";
import { resultContent } from "./content.ts";
import { Operation, type Telling } from "./operation.ts";
import type { TelemetryScene, ToolSpan } from "./telemetry.ts";

/** The span of one call of a tool. */
export function executionOf(telling: Telling, directive: ToolExec, scene: TelemetryScene): ToolSpan {
  const { call, requestId } = directive;
  // A name that no tool has was made up by the model: it may say anything, and there is no end of them.
  const name = Object.hasOwn(scene.tools(), call.name) ? call.name : "_OTHER";
  const measured = { "gen_ai.tool.name": name, "gen_ai.tool.type": "function" };
  const { "gen_ai.agent.name": agent, ...conversation } = agentAttributes(scene);
  const operation = new Operation(telling, scene, {
    name: `execute_tool ${name}`,
    kind: SPAN_KIND.internal,
    parent: telling.parentOf(requestId, scene),
    attributes: {
      "gen_ai.operation.name": "execute_tool",
      ...measured,
      "gen_ai.tool.call.id": call.id,
      "gen_ai.agent.name": agent,
      ...conversation,
      ...directiveAttributes(directive),
    },
  });
  operation.sayContent(() => ({ "gen_ai.tool.call.arguments": JSON.stringify(call.arguments) }));
  return {
    within: (work) => operation.within(work),
    ended: ({ failure, isError, content, attempts }) => {
      if (operation.isEnded) return;
      operation.say({ "heddle.attempts": attempts });
      if (failure !== undefined) operation.fail(failure);
      if (!isError) operation.sayContent(() => ({ "gen_ai.tool.call.result": resultContent(content) }));
      const { toolSeconds } = telling.instruments();
      operation.end(toolSeconds, { ...measured, "gen_ai.agent.name": agent, "error.type": failure?.code });
    },
  };
}
