import type { JsonObject } from "heddle";
import type { Asked } from "../api.ts";
import { objectsOf, textOf } from "../json.ts";
import { refuse } from "../openai-errors.ts";

/** The items of a request, with those it only refers to put in their place. */
export function itemsOf({ body, world }: Asked): readonly JsonObject[] {
  const { input } = body;
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return objectsOf(input).map((item) => {
    if (item["type"] !== "item_reference") return item;
    const id = textOf(item["id"]) ?? "";
    return world.stored.get(id) ?? notFound(id);
  });
}

export function notFound(id: string): never {
  const message =
    `Item with id '${id}' not found. Items are not persisted when \`store\` is set to false. ` +
    "Try again with `store` set to true, or remove this item from your input.";
  return refuse("unknown_item", "input", message, { status: 404 });
}

/** OpenAI keeps what it says unless told not to. */
export function keep(output: readonly JsonObject[], { body, world }: Asked): void {
  let reasoning: string | undefined;
  for (const item of output) {
    const id = textOf(item["id"]) ?? "";
    if (body["store"] !== false) world.stored.set(id, item);
    if (reasoning !== undefined) world.reasoningOf.set(id, reasoning);
    // Only the item right behind it cannot be without it.
    reasoning = item["type"] === "reasoning" ? id : undefined;
  }
}
