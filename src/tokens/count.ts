import type { Message, ToolSpec } from "../thread/message.ts";
import { countText, factsOf, type TokenCounter } from "./counter.ts";
import { fileTokens } from "./files.ts";
import { reasoningDataTokens } from "./reasoning-data.ts";
import { filesOf, textOf, textOfTool } from "./render.ts";

/**
 * The tokens of a whole message: texts, thinking with its encrypted data, names, ids, arguments, results, files.
 *
 * @example
 * countMessage({ role: "user", content: "What's 2+2?" }, heuristic); // 2 + 10
 */
export function countMessage(message: Message, counter: TokenCounter, model?: string): number {
  return countReadable(message, counter, model) + Math.round(reasoningDataTokens(message) * factsOf(counter).factor);
}

/** `countMessage` without the reasoning data, as projector `heddle/1` counts. */
export function countReadable(message: Message, counter: TokenCounter, model?: string): number {
  const { perMessage, factor } = factsOf(counter);
  const fixed = filesOf(message).reduce((sum, file) => sum + fileTokens(file), perMessage);
  return countText(textOf(message), counter, model) + Math.round(fixed * factor);
}

/**
 * The tokens of a tool's description for the model: name, description and input schema.
 *
 * @example
 * countTool({ name: "now", inputSchema: { type: "object" } }, heuristic); // 5
 */
export function countTool(spec: ToolSpec, counter: TokenCounter, model?: string): number {
  return countText(textOfTool(spec), counter, model);
}

/** The tokens of all tools of a request. */
export function countTools(specs: readonly ToolSpec[], counter: TokenCounter, model?: string): number {
  return specs.reduce((sum, spec) => sum + countTool(spec, counter, model), 0);
}
