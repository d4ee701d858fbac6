import { defineAgent } from "../../agent/definition/define-agent.ts";
import type { LanguageModel } from "../../agent/definition/language-model.ts";
import { systemRuntimePorts } from "../../runtime/ports.ts";
import { demoTools } from "../demo/demo-tools.ts";

/**
 * A plain agent for a real model, with the tools of the demo to try things out. They reach nothing outside.
 *
 * @example
 * const agent = assistant(scriptedModel(["Hello."]));
 * console.log(Object.keys(agent.tools)[0]); // calculator
 */
export function assistant(model: LanguageModel) {
  return defineAgent({
    name: "assistant",
    model,
    systemPrompt:
      "You are a helpful assistant. Your tools are for trying things out: a calculator, and small fixed tables of cities, " +
      "their weather and some prices. send_money only pretends.",
    tools: demoTools({ after: systemRuntimePorts.after, isSlow: false }),
    maxIterations: 40,
  });
}
