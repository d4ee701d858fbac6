import type { Content, Entry, JsonObject } from "heddle";
import { settingLine } from "../../src/studio/setting-line.ts";
import { callLine, callsOf, othersOf, textOf, thinkingOf } from "./content.ts";
import { oneLine } from "./format.ts";

/** The category of an entry. CSS uses it as the name of a color. */
type Tone = "user" | "assistant" | "tool" | "summary" | "context" | "system" | "error" | "approval" | "note";

export interface EntryLine {
  readonly tone: Tone;
  readonly label: string;
  readonly text: string;
  /** Whether the entry begins a new turn of the conversation. */
  readonly turn?: boolean;
}

/** Summarizes an entry of any kind in one line. */
export function lineOf({ kind, payload, refs = {} }: Pick<Entry, "kind" | "payload"> & Partial<Entry>): EntryLine {
  const said = payload as JsonObject; // every entry payload is a JSON object
  switch (kind) {
    case "message":
    case "ai_message":
      return messageLine(said);
    case "tool_call":
      return {
        tone: "tool",
        label: "call",
        text: callLine({ name: String(said["name"]), arguments: said["arguments"] ?? null }),
      };
    case "tool_result":
      return { tone: "tool", label: "result", text: `${said["name"]} → ${oneLine(textOf(said["result"] as Content))}` };
    case "summary":
      return {
        tone: "summary",
        label: "summary",
        text: `#${said["fromSeq"]}–#${said["toSeq"]} ${oneLine(String(said["content"] ?? ""))}`,
      };
    case "ai_context_operation":
      return operationLine(said);
    case "ai_setting":
      return { tone: "context", label: "setting", text: oneLine(settingLine({ payload, refs })) };
    case "error":
      return { tone: "error", label: "error", text: [said["code"], said["message"]].filter(Boolean).join(" — ") };
    case "approval_requested":
      return { tone: "approval", label: "approval", text: `${said["name"]} waits for approval` };
    case "approval_resolved":
      return approvalLine(said);
    case "tool_started":
      return { tone: "tool", label: "started", text: String(said["name"]) };
    case "sleep_started":
      return {
        tone: "tool",
        label: "sleep",
        text: `${said["name"]} until ${new Date(Number(said["until"])).toISOString()}`,
      };
    case "instruction_start":
    case "instruction_end":
      return {
        tone: "tool",
        label: kind.slice(12),
        text: [said["action"], said["status"]].filter(Boolean).join(" · "),
      };
    case "note":
      return { tone: "note", label: "note", text: noteText(said) };
    default:
      return { tone: "note", label: kind, text: oneLine(JSON.stringify(said)) };
  }
}

function messageLine(said: JsonObject): EntryLine {
  const content = (said["content"] ?? "") as Content;
  const text = oneLine([textOf(content), ...othersOf(content).map((other) => `[${other}]`)].filter(Boolean).join(" "));
  switch (said["role"]) {
    case "user":
      return said["steer"] === undefined
        ? { tone: "user", label: "user", text, turn: true }
        : { tone: "user", label: String(said["steer"]).replace("_", " "), text };
    case "assistant": {
      const calls = callsOf(said).map(callLine).join("  ");
      const thought = thinkingOf(content) === "" ? "" : "✻ ";
      const label = calls === "" ? "assistant" : "calls";
      return {
        tone: "assistant",
        label: said["partial"] === true ? "partial" : label,
        text: `${thought}${[text, calls].filter(Boolean).join("  ")}`,
      };
    }
    case "tool":
      return {
        tone: said["isError"] === true ? "error" : "tool",
        label: "result",
        text: `${said["name"] ?? "tool"} → ${text}`,
      };
    default:
      return { tone: "system", label: String(said["role"]), text };
  }
}

function operationLine({ operation, contextRef }: JsonObject): EntryLine {
  const { type, reason, baseSeq, from, atSeq } = (operation ?? {}) as JsonObject;
  const details = [
    `lane ${contextRef}`,
    from === undefined ? "" : `branched off ${from}`,
    atSeq === undefined ? "" : `at #${atSeq}`,
    baseSeq === undefined ? "" : `from #${baseSeq}`,
    reason === "manual" ? "" : reason,
  ];
  return { tone: "context", label: String(type ?? "context"), text: details.filter(Boolean).join(" · ") };
}

function approvalLine({ approved, by, note, reason = note, editedArguments }: JsonObject): EntryLine {
  const verdict = approved === true ? "approved" : "denied";
  const edited = editedArguments === undefined ? "" : "with edited arguments";
  const words = [verdict, by === undefined ? "" : `by ${by}`, reason, edited].filter(Boolean);
  return { tone: "approval", label: "decision", text: words.join(" · ") };
}

function noteText(said: JsonObject): string {
  const end = said["end"] as JsonObject | undefined; // Heddle wrote the end, so its shape is known
  if (end !== undefined) {
    return `request ${end["status"]}${end["terminationReason"] === undefined ? "" : ` · ${end["terminationReason"]}`}`;
  }
  const { seq, characters } = (said["cut"] ?? {}) as JsonObject; // Heddle wrote the cut
  if (seq !== undefined) return `of answer #${seq} only the first ${characters} characters were spoken`;
  const text = said["text"] ?? said["message"];
  return typeof text === "string" ? oneLine(text) : oneLine(JSON.stringify(said));
}

export function laneOf({ payload }: Pick<Entry, "payload">): string | undefined {
  const lane = (payload as JsonObject)["contextRef"];
  return typeof lane === "string" ? lane : undefined;
}
