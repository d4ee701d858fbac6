import type { AnyAgent, Summarizer } from "../../agent/definition/config.ts";
import { defineAgent } from "../../agent/definition/define-agent.ts";
import { staticModels } from "../../agent/definition/language-model.ts";
import { systemRuntimePorts } from "../../runtime/ports.ts";
import type { Content } from "../../thread/message.ts";
import type { SuggestedPrompt } from "../contract.ts";
import { DEMO, type DemoOptions, demoModel } from "./demo-model.ts";
import { demoTools } from "./demo-tools.ts";

/**
 * The agent of the offline demo, which needs no key. Its context window is small, so that users soon see a cut and a
 * summary.
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
  return staticModels(model).some((item) => typeof item !== "string" && item.provider === DEMO.provider);
}

/** The prompts that the demo offers. Each shows one feature. */
export const DEMO_PROMPTS: readonly SuggestedPrompt[] = [
  { title: "A sum", text: "What is (17 + 25) * 3?" },
  { title: "A follow-up", text: "What is 12 * 12?", next: ["And times 3?"] },
  { title: "Two calls in parallel", text: "Compare the weather in Oslo and Cairo." },
  { title: "Thinking", text: "Think step by step: which costs more, 3 lamps or 11 books?" },
  { title: "A loop of thirty calls", text: "Add up the numbers from 1 to 30, one call at a time." },
  { title: "An approval", text: "Send 20 euros to Ada." },
  { title: "A tool that fails", text: "How warm is it on the moon?" },
  {
    title: "A long talk that needs a summary",
    text: "Tell me the history of weaving, chapter by chapter.",
    next: Array.from({ length: 6 }, () => "Continue with the next chapter."),
  },
];

const LONGEST_LINE = 90;
const MOST_LINES = 12;

/** Summarizes by taking the first line of each message. This needs no model, and equal input gives equal output. */
const demoSummarizer: Summarizer = {
  summarize: async ({ previous, messages }) => {
    const lines = messages.flatMap(({ role, content }) => {
      const text = firstLine(content);
      return text === "" || role === "tool" ? [] : [`- ${role === "user" ? "Asked" : "Answered"}: ${text}`];
    });
    const known = previous?.content.split("\n").filter((line) => line.startsWith("- ")) ?? [];
    const kept = [...known, ...lines].slice(-MOST_LINES);
    return kept.length === 0 ? "" : `The conversation so far, in short:\n${kept.join("\n")}`;
  },
};

function firstLine(content: Content): string {
  const text =
    typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
  const line = text.trim().replaceAll(/\s+/g, " ");
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
}
