import type { OfferedPrompt } from "../contract/info.ts";

/** The prompts of the demo. Each shows one feature with one click. */
export const DEMO_PROMPTS: readonly OfferedPrompt[] = [
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
    next: Array.from({ length: 6 }, () => "Go on with the next chapter."),
  },
];
