import type { Content, Entry, JsonObject, JsonValue } from "heddle";
import type { RequestEnd } from "heddle/core";
import { recordIn } from "../data/calls.ts";
import { callsOf } from "../parts/content.ts";
import { type EntryLine, lineOf } from "../parts/entry-line.ts";

export interface ToolCard {
  readonly toolCallId: string;
  readonly name: string;
  readonly arguments: JsonValue;
  readonly result?: {
    readonly seq: number;
    readonly content: Content;
    readonly isError: boolean;
    /** For people. No model is shown it. */
    readonly details?: unknown;
  };
  readonly approval?: "asked" | "approved" | "denied";
}

export type ChatItem =
  | {
      readonly type: "user";
      readonly seq: number;
      readonly at: number;
      readonly content: Content;
      readonly steer?: string;
      readonly source?: string;
    }
  | {
      readonly type: "assistant";
      readonly seq: number;
      readonly at: number;
      readonly content: Content;
      readonly tools: readonly ToolCard[];
      readonly callId?: string;
      readonly partial: boolean;
      readonly tokens?: { readonly estimated: number; readonly input?: number; readonly output?: number };
      readonly end?: RequestEnd;
    }
  | { readonly type: "line"; readonly seq: number; readonly at: number; readonly line: EntryLine };

type Assistant = Extract<ChatItem, { type: "assistant" }>;
type Mutable = { -readonly [Key in keyof ToolCard]: ToolCard[Key] };

/** Turns entries into chat items. A tool result joins its tool call, and a decision joins its approval request. */
export function conversation(entries: readonly Entry[]): ChatItem[] {
  const items: ChatItem[] = [];
  const open = new Map<string, Mutable>();
  const place = (tool: Mutable) => open.set(tool.toolCallId, tool);
  for (const entry of entries) {
    const { kind, seq, at } = entry;
    const said = entry.payload as JsonObject; // every entry payload is a JSON object
    const isMessage = kind === "ai_message" || kind === "message";
    if (isMessage && said["role"] === "user") items.push(userItem(entry, said));
    else if (isMessage && said["role"] === "assistant") items.push(assistantItem(entry, said, place));
    else if (kind === "tool_call") addCall(items, entry, said, place);
    else if (isResult(kind, said) && settle(open, entry, said)) continue;
    else if (kind === "approval_requested") decide(open, said, "asked");
    else if (kind === "approval_resolved") decide(open, said, said["approved"] === true ? "approved" : "denied");
    else if (kind === "tool_started") continue;
    else items.push({ type: "line", seq, at, line: lineOf(entry) });
  }
  return items;
}

function userItem({ seq, at }: Entry, said: JsonObject): ChatItem {
  const { steer, source } = said;
  const content = (said["content"] ?? "") as Content;
  return {
    type: "user",
    seq,
    at,
    content,
    ...(steer !== undefined && { steer: String(steer) }),
    ...(source !== undefined && { source: String(source) }),
  };
}

function assistantItem(entry: Entry, said: JsonObject, place: (tool: Mutable) => void): Assistant {
  const record = recordIn(entry);
  const tools = callsOf(said).map((call) => ({ toolCallId: call.id, name: call.name, arguments: call.arguments }));
  for (const tool of tools) place(tool);
  const { inputTokens, outputTokens } = record?.usage ?? {};
  const end = said["end"] as RequestEnd | undefined;
  return {
    ...{ type: "assistant", seq: entry.seq, at: entry.at, content: (said["content"] ?? "") as Content, tools },
    partial: said["partial"] === true,
    ...(entry.refs.callId !== undefined && { callId: String(entry.refs.callId) }),
    ...(record && {
      tokens: {
        estimated: record.estimatedTokens,
        ...(inputTokens !== undefined && { input: inputTokens }),
        ...(outputTokens !== undefined && { output: outputTokens }),
      },
    }),
    ...(end !== undefined && { end }),
  };
}

/** Adds a tool call to the assistant message before it if both come from the same model call. */
function addCall(items: ChatItem[], { seq, at, refs }: Entry, said: JsonObject, place: (tool: Mutable) => void): void {
  const tool: Mutable = {
    toolCallId: String(said["id"] ?? `#${seq}`),
    name: String(said["name"]),
    arguments: said["arguments"] ?? null,
  };
  place(tool);
  const last = items.at(-1);
  const callId = refs.callId === undefined ? undefined : String(refs.callId);
  if (last?.type === "assistant" && last.callId === callId)
    items[items.length - 1] = { ...last, tools: [...last.tools, tool] };
  else
    items.push({
      type: "assistant",
      seq,
      at,
      content: "",
      tools: [tool],
      partial: false,
      ...(callId !== undefined && { callId }),
    });
}

const isResult = (kind: string, said: JsonObject) =>
  kind === "tool_result" || (kind === "ai_message" && said["role"] === "tool");

function settle(open: Map<string, Mutable>, { seq }: Entry, said: JsonObject): boolean {
  const id = said["toolCallId"];
  const tool =
    typeof id === "string"
      ? open.get(id)
      : [...open.values()].find((each) => each.name === said["name"] && !each.result);
  if (tool === undefined || tool.result !== undefined) return false;
  const result = said["result"] as JsonObject | undefined;
  const isError = said["isError"] === true || (typeof result === "object" && result?.["ok"] === false);
  const value =
    said["content"] ??
    (typeof result === "object" && result !== null ? (result["value"] ?? result["error"] ?? result) : result) ??
    "";
  tool.result = {
    seq,
    content: (typeof value === "string" || Array.isArray(value) ? value : JSON.stringify(value)) as Content,
    isError,
    ...(said["details"] !== undefined && { details: said["details"] }),
  };
  return true;
}

function decide(
  open: Map<string, Mutable>,
  { toolCallId, editedArguments }: JsonObject,
  approval: NonNullable<ToolCard["approval"]>,
): void {
  const tool = open.get(String(toolCallId));
  if (tool === undefined) return;
  tool.approval = approval;
  if (editedArguments !== undefined) tool.arguments = editedArguments;
}
