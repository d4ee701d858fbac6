import type { JsonObject, JsonValue } from "heddle";
import { objectsOf, textOf } from "../json.ts";
import { refuse } from "./errors.ts";

export interface PlacedBlock {
  readonly block: JsonObject;
  readonly at: string;
}

/** Messages of one role in a row, which are read as one. */
export interface Turn {
  readonly role: string;
  readonly at: string;
  readonly blocks: readonly PlacedBlock[];
}

export function blocksOf(content: JsonValue | undefined): readonly JsonObject[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : objectsOf(content);
}

/** Checks the messages one by one and puts them together. */
export function turnsOf(messages: readonly JsonObject[], takesSystem: boolean): readonly Turn[] {
  const turns: (Turn & { blocks: PlacedBlock[] })[] = [];
  for (const [index, message] of messages.entries()) {
    const at = `messages.${index}`;
    const role = checkedRole(message, at, takesSystem);
    const blocks = blocksOf(checkedContent(message, at, index === messages.length - 1)).map((block, place) => ({
      block,
      at: `${at}.content.${place}`,
    }));
    const last = turns.at(-1);
    if (last?.role === role) last.blocks.push(...blocks);
    else turns.push({ role, at, blocks });
  }
  return turns;
}

function checkedRole({ role }: JsonObject, at: string, takesSystem: boolean): string {
  if (role === "user" || role === "assistant" || (role === "system" && takesSystem)) return role;
  if (role === "system") {
    const message = `messages: Unexpected role "system". The Messages API accepts a top-level \`system\` parameter, not "system" as an input message role.`;
    refuse("system_in_messages", message);
  }
  return refuse("invalid_role", `${at}.role: Input should be 'user' or 'assistant'`);
}

function checkedContent({ content, role }: JsonObject, at: string, isLast: boolean): JsonValue {
  if (content === undefined || content === null) return refuse("empty_content", `${at}.content: Field required`);
  if (typeof content !== "string" && !Array.isArray(content)) {
    return refuse("wrong_type", `${at}.content: Input should be a valid list`);
  }
  if (content.length === 0 && !(isLast && role === "assistant")) {
    refuse(
      "empty_content",
      `${at}: all messages must have non-empty content except for the optional final assistant message`,
    );
  }
  return content;
}

export function checkTextBlock(block: JsonObject, at: string, where = "messages"): void {
  const text = textOf(block["text"]);
  if (text === undefined) refuse("wrong_type", `${at}.text.text: Field required`);
  if (text === "") refuse("empty_text", `${where}: text content blocks must be non-empty`);
  if (text.trim() === "") refuse("whitespace_text", `${where}: text content blocks must contain non-whitespace text`);
}
