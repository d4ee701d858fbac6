import type { Content, Entry, JsonObject, JsonValue } from "heddle";
import type { RequestEnd } from "heddle/core";
import { recordIn } from "../data/calls.ts";
import { type CallOf, callsOf, textOf } from "../parts/content.ts";
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
  readonly decision?: Decision;
  /** The thread of the agent that the call has asked. */
  readonly child?: string;
}

/** The person who decided about a call, the time and the reason, as the log has them. */
interface Decision {
  readonly seq: number;
  readonly at: number;
  readonly by?: string;
  readonly reason?: string;
  readonly isEdited: boolean;
}

export type ChatItem =
  | {
      readonly type: "user";
      readonly seq: number;
      readonly at: number;
      /** As `toUIMessages` gives it. */
      readonly id: string;
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
      /** The id of the whole answer, of which this may be a step. */
      readonly id: string;
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
  const lanes = new Set<unknown>();
  const place = (tool: Mutable) => open.set(tool.toolCallId, tool);
  for (const entry of entries) {
    const { kind, seq, at } = entry;
    const said = entry.payload as JsonObject; // every entry payload is a JSON object
    if (kind !== "ai_context_operation") lanes.add(said["contextRef"]);
    const isMessage = kind === "ai_message" || kind === "message";
    if (isMessage && said["role"] === "user") items.push(userItem(entry, said));
    else if (isMessage && said["role"] === "assistant") items.push(assistantItem(entry, said, place));
    else if (kind === "tool_call") addCall(items, entry, said, place);
    else if (isResult(kind, said) && settle(open, entry, said)) continue;
    else if (kind === "approval_requested") decide(open, entry, "asked");
    else if (kind === "approval_resolved") decide(open, entry, said["approved"] === true ? "approved" : "denied");
    else if (kind === "tool_started") begin(open, said);
    else if (kind === "ai_context_operation" && isPlainSwitch(said, lanes)) continue;
    else items.push({ type: "line", seq, at, line: lineOf(entry) });
  }
  return items;
}

/** A branch that begins or is shown again. The message itself shows that it has others. */
function isPlainSwitch({ operation, contextRef }: JsonObject, lanes: ReadonlySet<unknown>): boolean {
  const { type, from } = (operation ?? {}) as JsonObject; // Heddle wrote the operation
  return type === "switch" && (from !== undefined || lanes.has(contextRef));
}

/** The id of a message: that of its page, or of its entry. */
function idOf({ id, refs }: Entry): string {
  const { messageId } = refs;
  return typeof messageId === "string" && messageId !== "" ? messageId : id;
}

function userItem(entry: Entry, said: JsonObject): ChatItem {
  const { seq, at } = entry;
  const { steer, source } = said;
  const content = (said["content"] ?? "") as Content;
  return {
    type: "user",
    seq,
    at,
    id: idOf(entry),
    content,
    ...(steer !== undefined && { steer: String(steer) }),
    ...(source !== undefined && { source: String(source) }),
  };
}

function assistantItem(entry: Entry, said: JsonObject, place: (tool: Mutable) => void): Assistant {
  const record = recordIn(entry);
  const tools = callsOf(said).map((call) => ({
    ...{ toolCallId: call.id, name: call.name, arguments: call.arguments },
    ...importedApproval(call, entry),
  }));
  for (const tool of tools) place(tool);
  const { inputTokens, outputTokens } = record?.usage ?? {};
  const end = said["end"] as RequestEnd | undefined;
  return {
    ...{ type: "assistant", seq: entry.seq, at: entry.at, content: (said["content"] ?? "") as Content, tools },
    id: entry.refs.requestId ?? idOf(entry),
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

/** The approval in a call that was imported from another chat. */
function importedApproval({ approval }: CallOf, { seq, at }: Entry): Pick<ToolCard, "approval" | "decision"> {
  if (approval === undefined) return {};
  const { approved, reason } = approval;
  if (typeof approved !== "boolean") return { approval: "asked" };
  const decision = { seq, at, isEdited: false, ...(reason !== undefined && { reason: textOf(reason) }) };
  return { approval: approved ? "approved" : "denied", decision };
}

/** Adds a tool call to the assistant message before it if both come from the same model call. */
function addCall(items: ChatItem[], entry: Entry, said: JsonObject, place: (tool: Mutable) => void): void {
  const { seq, at, refs } = entry;
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
      id: refs.requestId ?? idOf(entry),
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

function begin(open: Map<string, Mutable>, { toolCallId, child }: JsonObject): void {
  const tool = open.get(String(toolCallId));
  const { threadId } = Object(child) as JsonObject; // Heddle wrote it
  if (tool !== undefined && typeof threadId === "string") tool.child = threadId;
}

function decide(
  open: Map<string, Mutable>,
  { seq, at, payload }: Entry,
  approval: NonNullable<ToolCard["approval"]>,
): void {
  const { toolCallId, editedArguments, by, note, reason = note } = payload as JsonObject; // every entry payload is a JSON object
  const tool = open.get(String(toolCallId));
  if (tool === undefined) return;
  tool.approval = approval;
  if (editedArguments !== undefined) tool.arguments = editedArguments;
  if (approval === "asked") return;
  tool.decision = {
    ...{ seq, at, isEdited: editedArguments !== undefined },
    ...(by !== undefined && { by: textOf(by) }),
    ...(reason !== undefined && { reason: textOf(reason) }),
  };
}
