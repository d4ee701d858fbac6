import type { JsonObject } from "heddle";
import type { Asked } from "../api.ts";
import { textOf } from "../json.ts";
import { checkRequired, refuse } from "../openai-errors.ts";
import { notFound } from "./stored.ts";

/** Reasoning comes back as it was sealed, with what followed it, and what it led to comes back with it. */
export function checkReasoning(items: readonly JsonObject[], asked: Asked): void {
  for (const [index, item] of items.entries()) {
    const id = textOf(item["id"]);
    if (item["type"] === "reasoning") {
      checkRequired(item["summary"], `input[${index}].summary`);
      checkSeal(item, id ?? "", asked);
      checkFollowed(items.slice(index + 1), id ?? "");
    }
    const needed = id === undefined ? undefined : asked.world.reasoningOf.get(id);
    if (needed !== undefined && !hasReasoning(items.slice(0, index), needed)) {
      const message = `Item '${id}' of type '${item["type"]}' was provided without its required 'reasoning' item: '${needed}'.`;
      refuse("missing_reasoning", "input", message);
    }
  }
}

function checkSeal(item: JsonObject, id: string, { world }: Asked): void {
  const blob = textOf(item["encrypted_content"]);
  if (blob === undefined) {
    if (!world.stored.has(id)) notFound(id);
    return;
  }
  if (world.sealed("openai-responses", blob) !== undefined) return;
  const message = `The encrypted content for item ${id} could not be verified. Reason: Encrypted content could not be decrypted or parsed.`;
  refuse("foreign_reasoning", "input", message, { code: "invalid_encrypted_content" });
}

function checkFollowed(later: readonly JsonObject[], id: string): void {
  const next = later.find(({ type }) => type !== "reasoning");
  if (next?.["type"] === "function_call" || next?.["role"] === "assistant") return;
  const message = `Item '${id}' of type 'reasoning' was provided without its required following item.`;
  refuse("loose_reasoning", "input", message);
}

function hasReasoning(earlier: readonly JsonObject[], needed: string): boolean {
  // An item without an id is known by its content alone, so any reasoning right before will do.
  const last = earlier.findLast(({ type, role }) => type === "reasoning" || role === "user");
  return earlier.some(({ id }) => id === needed) || (last?.["type"] === "reasoning" && last["id"] === undefined);
}

/** The text that is shown of a thought. */
export function summaryOf(texts: readonly string[]): readonly JsonObject[] {
  return texts.map((text) => ({ type: "summary_text", text }));
}
