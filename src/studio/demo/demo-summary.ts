import type { Summarizer } from "../../agent/definition/config.ts";
import type { Content } from "../../thread/message.ts";

const LONGEST_LINE = 90;
const MOST_LINES = 12;

/** Summarizes by the first line of each message. This needs no model, and the result is always the same. */
export const demoSummarizer: Summarizer = {
  summarize: async ({ previous, messages }) => {
    const lines = messages.flatMap(({ role, content }) => {
      const text = firstLine(content);
      return text === "" || role === "tool" ? [] : [`- ${role === "user" ? "Asked" : "Answered"}: ${text}`];
    });
    const known = previous?.content.split("\n").filter((line) => line.startsWith("- ")) ?? [];
    const kept = [...known, ...lines].slice(-MOST_LINES);
    return kept.length === 0 ? "" : `What was said so far, in short:\n${kept.join("\n")}`;
  },
};

function firstLine(content: Content): string {
  const text =
    typeof content === "string" ? content : content.map((part) => (part.type === "text" ? part.text : "")).join(" ");
  const line = text.trim().replaceAll(/\s+/g, " ");
  return line.length > LONGEST_LINE ? `${line.slice(0, LONGEST_LINE - 1)}…` : line;
}
