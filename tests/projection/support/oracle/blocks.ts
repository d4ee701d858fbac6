import type { PartMetadata } from "heddle/core";
import type { Item, SaidCall } from "./read.ts";

export interface Call extends SaidCall {
  /** Those of the answer, until a result says what it ran with. */
  arguments: SaidCall["arguments"];
  metadata?: PartMetadata;
  /** The item that made it. */
  readonly by: Item;
  result?: Item;
}

export interface Block {
  readonly type: "user" | "relabelled" | "assistant" | "other";
  /** The user's message, or all texts and calls of an answer or exchange. */
  readonly members: Item[];
  readonly calls: Call[];
}

export interface Structure {
  readonly blocks: readonly Block[];
  readonly dropped: readonly { readonly item: Item; readonly rule: "second_result" | "result_without_call" }[];
}

export function firstOf(block: Block): Item {
  const [first] = block.members;
  if (first === undefined) throw new Error("a block has a first member");
  return first;
}

export function openOf(block: Block): number {
  return firstOf(block).place.open;
}

export function isExchange(block: Block): boolean {
  return block.calls.length > 0;
}

export function isAnswer(block: Block): boolean {
  return block.type === "assistant" && !isExchange(block);
}

/** What comes between two items and keeps the calls after it out of the exchange before it. */
export type Walked = Item | "closing";

/** Puts the items of a lane together, in order. */
export function structureOf(walked: readonly Walked[]): Structure {
  const blocks: Block[] = [];
  const dropped: Structure["dropped"][number][] = [];
  let newest: Block | undefined; // the assistant's block that more of its calls may join
  let before: Item | undefined;
  for (const item of walked) {
    if (item === "closing") {
      newest = undefined;
      before = undefined;
      continue;
    }
    const { what } = item;
    if (what.type === "blank" || what.type === "nothing") continue;
    if (what.type === "result") {
      const call = calledFor(item, blocks, (call) => call.result === undefined);
      if (call !== undefined) {
        call.result = item;
        edit(call, what.edited);
      } else
        dropped.push({ item, rule: calledFor(item, blocks, () => true) ? "second_result" : "result_without_call" });
    } else if (what.type === "assistant") {
      const calls = what.calls.map((call): Call => ({ ...call, by: item }));
      if (newest !== undefined && (isContinued(newest, blocks) || joins(item, newest, before))) {
        newest.members.push(item);
        newest.calls.push(...calls);
      } else {
        newest = { type: "assistant", members: [item], calls };
        blocks.push(newest);
      }
    } else {
      blocks.push({ type: what.type === "unreadable" ? "other" : what.type, members: [item], calls: [] });
    }
    before = item;
  }
  return { blocks, dropped };
}

/** Edited, the call has its new arguments, and is not the one that OpenAI has stored. */
function edit(call: Call, edited: SaidCall["arguments"] | undefined): void {
  if (edited === undefined) return;
  call.arguments = edited;
  const kept = Object.entries(call.metadata ?? {}).filter(([owner]) => owner !== "openai" && owner !== "azure");
  if (kept.length > 0) call.metadata = Object.fromEntries(kept);
  else delete call.metadata;
}

/** Of an answer that its provider has paused comes the rest, unless another message came before. */
function isContinued(newest: Block, blocks: readonly Block[]): boolean {
  return newest === blocks.at(-1) && isAnswer(newest) && newest.members.every(({ isPaused }) => isPaused);
}

function joins(item: Item, newest: Block, before: Item | undefined): boolean {
  const { callId } = firstOf(newest);
  if (callId !== undefined && item.callId !== undefined) return callId === item.callId;
  if (callId !== undefined || item.callId !== undefined) return false;
  return isLoneCall(item) && before !== undefined && newest.members.includes(before) && isLoneCallOrText(before);
}

/** One call of several, perhaps; other entries hold all calls of their answer. */
function isLoneCall({ place, what }: Item): boolean {
  return place.kind === "tool_call" && place.item === undefined && what.type === "assistant";
}

function isLoneCallOrText(item: Item): boolean {
  return isLoneCall(item) || (item.what.type === "assistant" && item.what.calls.length === 0);
}

/** The call that a result belongs to: of the block opened last, the first. */
function calledFor(item: Item, blocks: readonly Block[], isOpen: (call: Call) => boolean): Call | undefined {
  if (item.what.type !== "result") return undefined;
  const { toolCallId, name } = item.what;
  const fits = (call: Call): boolean => {
    const { callId } = call.by;
    if (callId !== undefined && item.callId !== undefined && callId !== item.callId) return false;
    if (isGiven(toolCallId)) return call.id === toolCallId;
    return name !== undefined && call.name === name;
  };
  for (const block of blocks.toReversed()) {
    const call = block.calls.find((call) => fits(call) && isOpen(call));
    if (call !== undefined) return call;
  }
  return undefined;
}

function isGiven(id: string | undefined): boolean {
  return id !== undefined && id !== "";
}

/** The block of each user message that opens a turn: not a steer, which has the request of the one before it. */
export function openersOf(blocks: readonly Block[]): number[] {
  return blocks.flatMap((block, index) => {
    if (block.type !== "user") return [];
    const { requestId } = firstOf(block);
    const earlier = blocks.slice(0, index).findLast(({ type }) => type === "user");
    const isSteer = requestId !== undefined && earlier !== undefined && firstOf(earlier).requestId === requestId;
    return isSteer ? [] : [index];
  });
}
