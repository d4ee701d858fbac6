import type { Message } from "heddle";
import type { Reading, Variant } from "../peers/projection/peer.ts";
import { tokensOf } from "./tokens.ts";

/** The list at each of these lengths of a conversation; undefined where the project refused to make one. */
export async function listsAt(
  variant: Variant,
  messages: readonly Message[],
  lengths: readonly number[],
  limit: number,
): Promise<(readonly Message[] | undefined)[]> {
  const conversation = variant.open(limit);
  const lists: (readonly Message[] | undefined)[] = [];
  let length = 0;
  for (const next of lengths) {
    await conversation.add(messages.slice(length, next));
    length = next;
    lists.push((await built(() => conversation.build()))?.());
  }
  return lists;
}

async function built(build: () => Reading | Promise<Reading>): Promise<Reading | undefined> {
  try {
    return await build();
  } catch {
    return undefined;
  }
}

/** The limit of a variant for this budget. A variant that counts items gets the highest number that never exceeds it. */
export async function limitFor(
  variant: Variant,
  messages: readonly Message[],
  lengths: readonly number[],
  budget: number,
): Promise<number> {
  if (variant.fixed !== undefined) return variant.fixed;
  if (variant.counts === "tokens") return budget;
  let fits = 1;
  let tooMany = Math.max(...lengths) + 1;
  while (tooMany - fits > 1) {
    const middle = (fits + tooMany) >> 1;
    const lists = await listsAt(variant, messages, lengths, middle);
    if (lists.every((list) => tokensOf(list ?? []) <= budget)) fits = middle;
    else tooMany = middle;
  }
  return fits;
}
