import type { JsonObject } from "heddle";
import type { ThinkingPart } from "heddle/core";
import { isPlainObject } from "../../../../src/thread/json.ts";

type Thought = Omit<ThinkingPart, "type">;

/** Thinking without provider and model is of the model that was called. */
export function thinkingOf({ thinking, call }: JsonObject): ThinkingPart[] {
  if (thinking === undefined || thinking === null) return [];
  const list: readonly Thought[] = Array.isArray(thinking) ? (thinking as Thought[]) : [{ text: thinking as string }];
  const named = isPlainObject(call) && typeof call["model"] === "string" ? splitModel(call["model"]) : undefined;
  return list.map((part) => {
    if (typeof part.text !== "string") throw new TypeError("not thinking");
    const { text, provider = named?.provider, model = named?.model, metadata } = part;
    return {
      type: "thinking",
      text,
      ...(provider !== undefined && { provider }),
      ...(model !== undefined && { model }),
      ...(metadata !== undefined && { metadata }),
    };
  });
}

/** `provider:model` or `provider/model`. */
export function splitModel(name: string): { provider: string; model: string } | undefined {
  const at = name.search(/[:/]/);
  return at < 0 ? undefined : { provider: name.slice(0, at), model: name.slice(at + 1) };
}
