import type { ToolCall } from "../../thread/message.ts";
import type { Item } from "../transcript/item.ts";

type Said<Type extends Item["type"]> = Item & { readonly type: Type };

export type AssistantItem = Said<"assistant">;
export type ResultItem = Said<"result">;

/** One call of an exchange, with its result once the log has one. */
export interface Call {
  readonly call: ToolCall;
  /** The entry that made the call. */
  readonly by: AssistantItem;
  readonly result: ResultItem | undefined;
}

/** The smallest unit that is shown or cut. */
export type Block = Common &
  (
    | { readonly type: "user"; readonly item: Said<"user"> }
    /** A system message in mid-history. It is shown in the user role and opens no turn. */
    | { readonly type: "label"; readonly item: Said<"label"> }
    | { readonly type: "answer" | "exchange"; readonly items: readonly AssistantItem[] }
    | { readonly type: "unreadable"; readonly item: Said<"unreadable"> }
  );

interface Common {
  /** A summary covers the block when it reaches this seq. */
  readonly open: number;
  readonly position: number;
  readonly seq: number;
  readonly calls: readonly Call[];
  /** The newest entry in the block. */
  readonly lastSeq: number;
  /** The latest earlier block that used one of the same call ids, or -1. */
  readonly earlierIds: number;
}

/** An exchange or an answer. */
export type AssistantBlock = Block & { readonly type: "answer" | "exchange" };

export function isAssistant(block: Block | undefined): block is AssistantBlock {
  return block?.type === "answer" || block?.type === "exchange";
}

/** The first item of the block. */
export function firstItem(block: Block): Item | undefined {
  return isAssistant(block) ? block.items[0] : block.item;
}

/** Whether the block begins with a message of a replaced context. */
export function isOfContext(block: Block): boolean {
  return firstItem(block)?.index !== undefined;
}

/** The number of messages the block renders to. */
export function messageCount({ type, calls }: Block): number {
  return type === "unreadable" ? 0 : 1 + calls.length;
}

/** A placeholder user message goes between an answer and calls. Gemini wants a user or tool message before calls. */
export function hasGap(before: Block | undefined, block: Block): boolean {
  return before?.type === "answer" && block.type === "exchange";
}
