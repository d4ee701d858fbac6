import type { Provenance } from "../projection/projection.ts";
import { escapeHidden } from "../thread/hidden-characters.ts";
import type { Message, ToolSpec } from "../thread/message.ts";
import type { Output, Paint } from "./output.ts";
import { contentText, count, indented } from "./text.ts";

const HUE = { system: "magenta", user: "cyan", assistant: "green", tool: "yellow" } as const;

/** Prints messages for a human reader. */
export async function printMessages(
  out: Output,
  messages: readonly Message[],
  provenance: readonly Provenance[] = [],
  /** Index of the first message that the call before did not have. Default: none. */
  newFrom = Number.POSITIVE_INFINITY,
): Promise<void> {
  for (const [index, message] of messages.entries()) {
    const facts = [factsOf(provenance[index]), index >= newFrom ? "new" : ""].filter(Boolean).join(" · ");
    await out.data(`${title(out.paint, index, message)}${facts === "" ? "" : out.paint("dim", ` · ${facts}`)}`);
    await out.data(indented(textOf(message)));
  }
}

export async function printTools(out: Output, tools: readonly ToolSpec[]): Promise<void> {
  if (tools.length > 0) await out.data(out.paint("dim", `tools: ${tools.map(({ name }) => name).join(", ")}`));
}

function title(paint: Paint, index: number, { role }: Message): string {
  return `${paint("dim", `[${index}]`)} ${paint(HUE[role], role)}`;
}

function factsOf(from: Provenance | undefined): string {
  if (from === undefined) return "";
  const { segment, seqs, tokens, rule } = from;
  const entries = seqs.length === 0 ? segment : `${seqs.length === 1 ? "entry" : "entries"} ${seqs.join(", ")}`;
  return [entries, count(tokens, "token"), ...(rule === undefined ? [] : [rule])].join(" · ");
}

/** The text of a message, with its tool calls and results. */
export function textOf(message: Message): string {
  const text = contentText(message.content);
  const calls =
    message.role === "assistant"
      ? (message.toolCalls ?? []).map(
          ({ id, name, arguments: given }) => `→ ${name} ${escapeHidden(JSON.stringify(given))} (${id})`,
        )
      : [];
  const result =
    message.role === "tool" ? [`← ${message.name} (${message.toolCallId})${message.isError ? " failed" : ""}`] : [];
  return [...result, text, ...calls].filter(Boolean).join("\n");
}
