import type { Message, ToolSpec } from "../../thread/message.ts";
import { refuseUnknownOptions } from "../../thread/option-names.ts";
import { type CacheOption, EPHEMERAL, marksOf } from "../cache.ts";
import { runs } from "../runs.ts";
import { blocksOf, isThinking } from "./anthropic-blocks.ts";
import type { AnthropicBlock, AnthropicMessage, AnthropicText, AnthropicTool } from "./anthropic-types.ts";

export interface AnthropicOptions {
  /** Adds cache breakpoints, at most four. Default none. */
  readonly cache?: CacheOption | undefined;
}

export interface AnthropicBody {
  readonly system?: readonly AnthropicText[];
  readonly messages: readonly AnthropicMessage[];
  readonly tools?: readonly AnthropicTool[];
}

/** A block with the role and index of its message. */
interface Placed {
  readonly role: "user" | "assistant";
  readonly message: number;
  readonly block: AnthropicBlock;
}

/**
 * The fields `system`, `messages` and `tools` of a Messages request. System messages are separate, adjacent messages of one
 * role are merged, results come first in their message, and thinking is unchanged.
 *
 * @example
 * const body = toAnthropic([{ role: "system", content: "Be brief." }, { role: "user", content: "Hi" }], [], { cache: true });
 * console.log(body.system?.[0]?.cache_control); // { type: 'ephemeral' }
 */
export function toAnthropic(
  messages: readonly Message[],
  tools: readonly ToolSpec[] = [],
  options: AnthropicOptions = {},
): AnthropicBody {
  const system = messages.flatMap((message) => (message.role === "system" ? [textOf(message.content)] : []));
  const placed = runs(messages.flatMap(place), (a, b) => a.role === b.role).flatMap(resultsFirst);
  const body = { system, placed: trimmed(placed), tools: tools.map(toolOf) };
  refuseUnknownOptions("toAnthropic", options, { cache: true });
  const { cache } = options;
  return assemble(cache === undefined ? body : { ...body, ...withMarks(body, cache) });
}

interface Parts {
  readonly system: readonly AnthropicText[];
  readonly placed: readonly Placed[];
  readonly tools: readonly AnthropicTool[];
}

function place(message: Message, index: number): readonly Placed[] {
  const role = message.role === "assistant" ? "assistant" : "user";
  return blocksOf(message).map((block) => ({ role, message: index, block }));
}

/** "tool_result blocks must come first", before any text of the message. */
function resultsFirst(run: readonly Placed[]): readonly Placed[] {
  const isResult = ({ block }: Placed): boolean => block.type === "tool_result";
  return [...run.filter(isResult), ...run.filter((item) => !isResult(item))];
}

/** "final assistant content cannot end with trailing whitespace". */
function trimmed(placed: readonly Placed[]): readonly Placed[] {
  const last = placed.at(-1);
  if (last?.role !== "assistant" || last.block.type !== "text") return placed;
  return [...placed.slice(0, -1), { ...last, block: { ...last.block, text: last.block.text.trimEnd() } }];
}

/** Tools come before system in the cache, so the end of system covers both. */
function withMarks({ system, placed, tools }: Parts, cache: CacheOption): Parts {
  const marks = marksOf(
    placed.map(({ message, block }) => ({ message, markable: !isThinking(block) })),
    cache,
  );
  return {
    system: markLast(system),
    placed: placed.map((item, index) => (marks.has(index) ? { ...item, block: mark(item.block) } : item)),
    tools: system.length === 0 ? markLast(tools) : tools,
  };
}

function markLast<T extends object>(items: readonly T[]): readonly T[] {
  return items.map((item, index) => (index === items.length - 1 ? mark(item) : item));
}

function mark<T extends object>(block: T): T {
  return { ...block, cache_control: EPHEMERAL };
}

function assemble({ system, placed, tools }: Parts): AnthropicBody {
  const messages = runs(placed, (a, b) => a.role === b.role).map((run) => ({
    role: run[0]?.role ?? "user", // a run has a first item
    content: run.map(({ block }) => block),
  }));
  return {
    ...(system.length === 0 ? {} : { system }),
    messages,
    ...(tools.length === 0 ? {} : { tools }),
  };
}

function textOf(text: string): AnthropicText {
  return { type: "text", text };
}

function toolOf({ name, description, inputSchema }: ToolSpec): AnthropicTool {
  return { name, ...(description === undefined ? {} : { description }), input_schema: inputSchema };
}
