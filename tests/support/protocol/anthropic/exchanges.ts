import { textOf } from "../json.ts";
import { refuse } from "./errors.ts";
import type { PlacedBlock, Turn } from "./turns.ts";

const USE_ID = /^[a-zA-Z0-9_-]+$/;

/** The turn behind tool_use blocks begins with their results: all of them, each once, and no other. */
export function checkExchanges(turns: readonly Turn[]): void {
  const seen = new Set<string>();
  let open: readonly string[] = [];
  let openAt = "";
  for (const { role, at, blocks } of turns) {
    const results = blocks.filter(({ block }) => block["type"] === "tool_result");
    if (role === "assistant") checkAllAnswered(open, [], openAt);
    for (const { block, at } of results) {
      const id = textOf(block["tool_use_id"]) ?? "";
      if (!open.includes(id)) refuseOrphan(id, at);
    }
    checkAllAnswered(open, leadingResults(blocks), openAt);
    checkOnce(results);
    open = usesIn(blocks, seen);
    openAt = at;
  }
  checkAllAnswered(open, [], openAt);
}

/** Results stand before anything else; one behind a text is not seen. */
function leadingResults(blocks: readonly PlacedBlock[]): readonly string[] {
  const end = blocks.findIndex(({ block }) => block["type"] !== "tool_result");
  const leading = end < 0 ? blocks : blocks.slice(0, end);
  return leading.map(({ block }) => textOf(block["tool_use_id"]) ?? "");
}

function checkAllAnswered(open: readonly string[], answered: readonly string[], at: string): void {
  const missing = open.filter((id) => !answered.includes(id));
  if (missing.length === 0) return;
  const message =
    `${at}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(", ")}. ` +
    "Each `tool_use` block must have a corresponding `tool_result` block in the next message.";
  refuse("missing_result", message);
}

function refuseOrphan(id: string, at: string): never {
  const message =
    `${at}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. ` +
    "Each `tool_result` block must have a corresponding `tool_use` block in the previous message.";
  return refuse("orphan_result", message);
}

function checkOnce(results: readonly PlacedBlock[]): void {
  const seen = new Set<string>();
  for (const { block, at } of results) {
    const id = textOf(block["tool_use_id"]) ?? "";
    if (seen.has(id)) {
      const message = `${at}: each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${id}`;
      refuse("duplicate_result", message);
    }
    seen.add(id);
  }
}

function usesIn(blocks: readonly PlacedBlock[], seen: Set<string>): readonly string[] {
  return blocks.flatMap(({ block, at }) => {
    if (block["type"] !== "tool_use") return [];
    const id = textOf(block["id"]) ?? "";
    if (!USE_ID.test(id)) {
      refuse("invalid_call_id", `${at}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`);
    }
    if (id.length > 64) refuse("invalid_call_id", `${at}.tool_use.id: String should have at most 64 characters`);
    if (seen.has(id)) refuse("duplicate_call_id", `${at}: \`tool_use\` ids must be unique`);
    seen.add(id);
    const { name, input } = block;
    if (!/^[a-zA-Z0-9_-]{1,200}$/.test(textOf(name) ?? "")) {
      refuse("invalid_tool_name", `${at}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,200}$'`);
    }
    if (typeof input !== "object" || input === null || Array.isArray(input)) {
      refuse("invalid_arguments", `${at}.tool_use.input: Input should be a valid dictionary`);
    }
    return [id];
  });
}
