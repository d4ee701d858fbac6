import type { AssistantMessage, Content, Part, ToolCall } from "../../thread/message.ts";
import type { AssistantBlock, AssistantItem } from "../history/block.ts";
import { shownName } from "./ids.ts";

/** The assistant message of a block: the content of all its entries, in order. */
export function assistantMessage(
  { items, calls }: AssistantBlock,
  ids: readonly string[],
  isShown: (part: Part) => boolean,
): AssistantMessage {
  const toolCalls = calls.map(({ call }, slot) => shownCall(call, ids[slot] ?? call.id));
  const content = shownParts(joined(items, ids), isShown);
  return { role: "assistant", content, ...(toolCalls.length > 0 && { toolCalls }) };
}

/** Approvals are never shown to a model. */
function shownCall({ approval: _, ...call }: ToolCall, id: string): ToolCall {
  return { ...call, id, name: shownName(call.name) };
}

function joined(items: readonly AssistantItem[], ids: readonly string[]): Content {
  const [only, ...others] = items;
  if (only !== undefined && others.length === 0) return withShownPlaces(only.content, only.calls, ids);
  let slot = 0;
  const parts = items.flatMap(({ content, calls }) => {
    const own = ids.slice(slot, slot + calls.length);
    slot += calls.length;
    return withPlaces(withShownPlaces(content, calls, own), own);
  });
  // Calls at the end need no place, because a call without a place is shown at the end.
  const end = parts.findLastIndex(({ type }) => type !== "tool_call") + 1;
  return asContent(parts.slice(0, end));
}

/** Places refer to calls by id, so a rewritten id is rewritten in its place too. */
function withShownPlaces(content: Content, calls: readonly ToolCall[], ids: readonly string[]): Content {
  if (typeof content === "string" || !content.some(({ type }) => type === "tool_call")) return content;
  const placed = new Set<number>();
  const parts = content.flatMap((part): readonly Part[] => {
    if (part.type !== "tool_call") return [part];
    const slot = calls.findIndex(({ id }, at) => id === part.id && !placed.has(at));
    const id = ids[slot];
    placed.add(slot);
    return id === undefined ? [] : [id === part.id ? part : { ...part, id }];
  });
  return parts.length === content.length && parts.every((part, index) => part === content[index]) ? content : parts;
}

/** The parts of one entry, with a place for each of its calls. */
function withPlaces(content: Content, ids: readonly string[]): readonly Part[] {
  const parts: readonly Part[] = typeof content !== "string" ? content : content === "" ? [] : [text(content)];
  const placed = new Set(parts.map((part) => (part.type === "tool_call" ? part.id : undefined)));
  return [...parts, ...ids.filter((id) => !placed.has(id)).map((id): Part => ({ type: "tool_call", id }))];
}

function shownParts(content: Content, isShown: (part: Part) => boolean): Content {
  if (typeof content === "string") return content;
  const kept = content.filter(isShown);
  return kept.length === content.length ? content : asContent(kept);
}

function asContent(parts: readonly Part[]): Content {
  const [only, ...others] = parts;
  if (only === undefined) return "";
  return only.type === "text" && only.metadata === undefined && others.length === 0 ? only.text : parts;
}

function text(content: string): Part {
  return { type: "text", text: content };
}
