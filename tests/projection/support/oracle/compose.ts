import type { Content, ContextPolicy, Message, Part, TokenCounter, ToolCall } from "heddle";
import { countMessage, type ThinkingPart } from "heddle/core";
import type { Provenance } from "../../../../src/projection/projection.ts";
import { canReadProviderCall } from "../../../../src/thread/message.ts";
import { type Block, firstOf, isAnswer, isExchange, openersOf, openOf } from "./blocks.ts";
import { joined, partsOf, plain, thinkingIn } from "./content.ts";
import { type Coverage, newestWhenCovered } from "./coverage.ts";
import type { Place } from "./fold.ts";
import { idsOf, legalName, withPlaces } from "./ids.ts";
import { sum } from "./log.ts";
import type { Item } from "./read.ts";
import { type Shrunk, shownResult } from "./results.ts";
import { splitModel } from "./thoughts.ts";

/** A message before it is settled whether its thinking stays. */
export interface Draft {
  readonly message: Message;
  /** The message without its thinking, when it has some that might stay. */
  readonly bare?: Message;
  /** The fingerprints recorded with the calls it is made of. */
  readonly fingerprints: readonly string[];
  readonly thoughts: readonly { readonly place: Place; readonly candidate: boolean }[];
  readonly segment: Provenance["segment"];
  readonly places: readonly Place[];
  readonly rule?: NonNullable<Provenance["rule"]>;
  readonly block?: Block;
}

export interface Setting {
  readonly blocks: readonly Block[];
  readonly edge: number;
  readonly moves: Coverage["moves"];
  readonly hasSummary: boolean;
  readonly cleared: readonly number[];
  readonly shrunk: Shrunk;
  /** Files that notes stand for because the newest block did not fit. */
  readonly noted: ReadonlySet<Part>;
  readonly policy: ContextPolicy;
  readonly model: string | undefined;
  readonly counter: TokenCounter;
  /** A head with more tokens is only the ask. */
  readonly headMost: number;
}

/** History and pending as they would be if the window began at `start`. */
export function compose(start: number, setting: Setting): Draft[] {
  const { blocks, hasSummary } = setting;
  const drafts: Draft[] = headOf(start, setting).map((block) => ({ ...said(block), rule: "head" }));
  for (const [index, block] of blocks.entries()) {
    if (index < start) continue;
    const previous = index > start ? blocks[index - 1] : undefined;
    const shown = draftsOf(block, index, start, setting);
    const isGap = previous !== undefined && isAnswer(previous) && isExchange(block);
    const isFirst = drafts.length === 0 && block.type === "assistant";
    if (isGap || isFirst) drafts.push(standIn(segmentOf(block)));
    drafts.push(...shown);
  }
  return drafts.length === 0 && hasSummary && start >= blocks.length ? [standIn("history")] : drafts;
}

/** The ask that a window starting here cuts off, and what was steered into it before, unless that is long. */
export function headOf(start: number, setting: Setting): Block[] {
  const head = wholeHead(start, setting);
  const tokens = head.map((block) => countMessage(said(block).message, setting.counter, setting.model));
  if (sum(tokens) <= setting.headMost) return head;
  const users = wholeHead(start, { ...setting, edge: Number.NEGATIVE_INFINITY });
  const ask = users.find((block) => isAsk(firstOf(block).place));
  return head.filter((block) => block === ask);
}

/** Not a message that was steered into the request. One that continues a request takes the place of the ask. */
export function isAsk({ payload }: Place): boolean {
  return payload["steer"] === undefined || payload["steer"] === "continue";
}

function wholeHead(start: number, { blocks, edge, moves }: Setting): Block[] {
  const openers = openersOf(blocks);
  const turn = openers.findLast((opener) => opener <= start);
  if (turn === undefined || turn === start) return [];
  const isOpen = (block: Block) =>
    turn === openers.at(-1) && !blocks.slice(Math.max(turn, newestWhenCovered(moves, openOf(block)))).some(isAnswer);
  const users = blocks.slice(turn, start).filter(({ type }) => type === "user");
  return users.filter((block) => openOf(block) > edge || isOpen(block));
}

function draftsOf(block: Block, index: number, start: number, setting: Setting): Draft[] {
  switch (block.type) {
    case "user":
      return [said(block)];
    case "relabelled":
      return [{ ...said(block), rule: "relabelled" }];
    case "other":
      return []; // it is refused when it is shown
    case "assistant": {
      const ids = idsOf(block, setting.blocks.slice(start, index));
      return [answered(block, ids, setting), ...resultDrafts(block, ids, setting.cleared.includes(index), setting)];
    }
  }
}

function standIn(segment: Draft["segment"]): Draft {
  const message: Message = { role: "user", content: "(continued)" };
  return { message, segment, rule: "stand_in", places: [], fingerprints: [], thoughts: [] };
}

function said(block: Block): Draft {
  const { what, place } = firstOf(block);
  if (what.type !== "user" && what.type !== "relabelled") throw new Error("not a user's");
  const message: Message = { role: "user", content: what.content };
  return { message, segment: segmentOf(block), places: [place], block, fingerprints: [], thoughts: [] };
}

function segmentOf(block: Block): Draft["segment"] {
  return firstOf(block).place.pending ? "pending" : "history";
}

function answered(block: Block, ids: readonly string[], { policy, model }: Setting): Draft {
  const calls = block.calls.map((call, n) => ({ ...call, shown: ids[n] ?? "", call }));
  const toolCalls = calls.map(
    ({ shown, name, arguments: args, metadata }): ToolCall => ({
      id: shown,
      name: legalName(name),
      arguments: args,
      ...(metadata !== undefined && { metadata }),
    }),
  );
  const mayStay = (part: ThinkingPart) =>
    policy.thinking === "keep" || (policy.thinking === "auto" && isOf(part, model));
  const asked = model === undefined ? undefined : splitModel(model)?.provider;
  const isReadable = (part: Part) =>
    (part.type !== "provider_call" && part.type !== "provider_result") ||
    (asked !== undefined && canReadProviderCall(part, asked));
  const messageWith = (stays: (part: ThinkingPart) => boolean): Message => {
    const contents = block.members.map((member) => {
      const own = calls.filter(({ by }) => by === member);
      return { content: withPlaces(contentOf(member, stays, isReadable), own), calls: own.map(({ shown }) => shown) };
    });
    return { role: "assistant", content: joined(contents), ...(toolCalls.length > 0 && { toolCalls }) };
  };
  const thoughts = block.members.flatMap((member) =>
    allThinking(member).map((part) => ({ place: member.place, candidate: mayStay(part) })),
  );
  const undecided = policy.thinking === "auto" && thoughts.some(({ candidate }) => candidate);
  return {
    message: messageWith(mayStay),
    ...(undecided && { bare: messageWith(() => false) }),
    fingerprints: block.members.flatMap(({ fingerprint }) => fingerprint ?? []),
    thoughts,
    segment: segmentOf(block),
    places: block.members.map(({ place }) => place),
    block,
  };
}

function contentOf(item: Item, stays: (part: ThinkingPart) => boolean, isReadable: (part: Part) => boolean): Content {
  const { what } = item;
  if (what.type !== "assistant") return "";
  if (allThinking(item).length === 0 && partsOf(what.content).every(isReadable)) return what.content;
  const said = partsOf(what.content).filter((part) => (part.type === "thinking" ? stays(part) : isReadable(part)));
  return plain([...what.thinking.filter(stays), ...said]);
}

function allThinking({ what }: Item): readonly ThinkingPart[] {
  return what.type === "assistant" ? [...what.thinking, ...thinkingIn(what.content)] : [];
}

function isOf({ provider, model }: ThinkingPart, asked: string | undefined): boolean {
  const wanted = asked === undefined ? undefined : splitModel(asked);
  if (wanted === undefined || provider === undefined || model === undefined) return false;
  const family = (name: string) => name.split(".")[0];
  return family(provider) === family(wanted.provider) && model === wanted.model;
}

function resultDrafts(block: Block, ids: readonly string[], cleared: boolean, setting: Setting): Draft[] {
  return block.calls.map((call, n): Draft => {
    const { content, isError, rule, metadata } = shownResult(call, setting, cleared);
    const message: Message = {
      role: "tool",
      toolCallId: ids[n] ?? "",
      name: legalName(call.name),
      content,
      ...(isError && { isError }),
      ...(metadata !== undefined && { metadata }),
    };
    return {
      message,
      segment: segmentOf(block),
      places: call.result ? [call.result.place] : [],
      ...(rule !== undefined && { rule }),
      block,
      fingerprints: [],
      thoughts: [],
    };
  });
}
