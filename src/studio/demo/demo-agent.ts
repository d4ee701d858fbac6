import type { AnyAgent } from "../../agent/definition/agent.ts";
import { defineAgent } from "../../agent/definition/define-agent.ts";
import { systemRuntimePorts } from "../../runtime/ports.ts";
import { DEMO, type DemoOptions, demoModel } from "./demo-model.ts";
import { demoSummarizer } from "./demo-summary.ts";
import { demoTools } from "./demo-tools.ts";

/**
 * The agent that answers without a key for a real model. Its window is small, so that after a few requests the user sees
 * the window move and a summary appear.
 *
 * @example
 * const server = await AgentServer.start({ agent: demoAgent({ wordMs: 0 }), store: memoryStore() });
 * const { text } = await (await server.ask("What is (17 + 25) * 3?")).result;
 * console.log(text); // (17 + 25) * 3 is **126**.
 * await server.stop();
 */
export function demoAgent(options: DemoOptions = {}) {
  const after = options.ports?.after ?? systemRuntimePorts.after;
  return defineAgent({
    name: "heddle-demo",
    model: demoModel(options),
    systemPrompt: "You are Heddle's offline demo. Calculate and look things up with your tools, and never guess.",
    tools: demoTools({ after, isSlow: options.wordMs !== 0 }),
    contextPolicy: {
      maxInputTokens: 4000,
      reserveOutputTokens: 800,
      keepLastTurns: 2,
      summarization: "use_existing",
      autoSummarize: true,
    },
    summarizer: demoSummarizer,
    maxIterations: 110,
  });
}

export function isDemo({ model }: AnyAgent): boolean {
  return model.provider === DEMO.provider;
}
