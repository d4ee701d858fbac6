import { createHash } from "node:crypto";
import type { JsonObject, JsonValue } from "heddle";
import type { Asked } from "../api.ts";
import { objectOf, objectsOf, textOf, without } from "../json.ts";
import type { Sealed } from "../world.ts";
import { refuse } from "./errors.ts";
import { blocksOf, type PlacedBlock, type Turn } from "./turns.ts";

const BINDING_BETA = "thinking-binding-controls-2026-08-01";

/** Thinking comes back as it was given, and, where it is bound, behind what it was given for. */
export function checkThinking(turns: readonly Turn[], asked: Asked): void {
  const lastAssistant = turns.findLast(({ role }) => role === "assistant");
  const before: JsonValue[] = [];
  for (const turn of turns) {
    for (const placed of turn.blocks) {
      const sealed = sealOf(placed, turn === lastAssistant, asked);
      if (sealed?.prefix !== undefined && asked.world.options.bindThinking === true) {
        checkPrefix(sealed.prefix, hashOf(asked.body, before), placed, asked);
      }
      before.push(plain(turn.role, placed.block));
    }
  }
  checkLoopStart(turns, asked.body);
}

/** Of a block that is thinking: what was sealed with it. */
function sealOf({ block, at }: PlacedBlock, isLatest: boolean, { world }: Asked): Sealed | undefined {
  const type = textOf(block["type"]) ?? "";
  if (type !== "thinking" && type !== "redacted_thinking") return undefined;
  const redacted = type === "redacted_thinking";
  const blob = textOf(block[redacted ? "data" : "signature"]);
  if (blob === undefined)
    refuse("foreign_thinking", `${at}.${type}.${redacted ? "data" : "signature"}: Field required`);
  const sealed = world.sealed("anthropic", blob);
  if (sealed === undefined) {
    refuse("foreign_thinking", `${at}: Invalid \`${redacted ? "data" : "signature"}\` in \`${type}\` block`);
  }
  if (!redacted && sealed.content !== undefined && sealed.content !== block["thinking"]) {
    const message = isLatest
      ? `${at}: \`thinking\` or \`redacted_thinking\` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.`
      : `${at}: Invalid \`signature\` in \`thinking\` block`;
    refuse("altered_thinking", message);
  }
  return sealed;
}

function checkPrefix(
  sealed: string,
  actual: string,
  { block, at }: PlacedBlock,
  { body, headers, transformations }: Asked,
): void {
  if (sealed === actual) return;
  const { prefix_mismatch_behavior } = objectOf(objectOf(body["thinking"])["block_binding"]);
  if (prefix_mismatch_behavior === "drop_block" && String(headers["anthropic-beta"] ?? "").includes(BINDING_BETA)) {
    transformations.push({ type: "thinking_block_dropped", path: at, reason: "prefix_mismatch" });
    return;
  }
  const message = `${at}: Invalid \`signature\` in \`${block["type"]}\` block: the system prompt, tools or messages before it are not those it was generated for`;
  refuse("thinking_prefix_mismatch", message);
}

/** With a fixed thinking budget an answer that goes on using tools begins with thinking; without thinking it has none. */
function checkLoopStart(turns: readonly Turn[], body: JsonObject): void {
  const { type } = objectOf(body["thinking"]);
  const last = turns.findLast(({ role }) => role === "assistant");
  const goesOn = turns.at(-1)?.blocks.some(({ block }) => block["type"] === "tool_result") ?? false;
  if (!goesOn) return;
  const kinds = last?.blocks.map(({ block }) => textOf(block["type"])) ?? [];
  const isThinking = (kind: string | undefined): boolean => kind === "thinking" || kind === "redacted_thinking";
  if (type === "disabled" && kinds.some(isThinking)) {
    const message = `${last?.at}.content.0.type: When thinking is disabled, an \`assistant\` message in the final position cannot contain \`thinking\`.`;
    refuse("thinking_disabled", message);
  }
  const [first] = kinds;
  if (type !== "enabled" || isThinking(first)) return;
  const message =
    `${last?.at}.content.0.type: Expected \`thinking\` or \`redacted_thinking\`, but found \`${first}\`. When \`thinking\` is enabled, ` +
    "a final `assistant` message must start with a thinking block (preceeding the lastmost set of `tool_use` and `tool_result` blocks).";
  refuse("missing_thinking", message);
}

/** What thinking is bound to: all that was sent, and what of the answer came before it. */
export function prefixHash(body: JsonObject, said: readonly JsonObject[]): string {
  const sent = objectsOf(body["messages"]).flatMap(({ role, content }) =>
    blocksOf(content).map((block) => plain(textOf(role) ?? "", block)),
  );
  return hashOf(body, [...sent, ...said.map((block) => plain("assistant", block))]);
}

/** How arguments are streamed is no part of what a tool is; packages ask for it only when they stream. */
function hashOf({ system, tools }: JsonObject, before: readonly JsonValue[]): string {
  const head = [
    without("cache_control", [...blocksOf(system)]),
    without("eager_input_streaming", without("cache_control", tools)),
  ];
  return createHash("sha256")
    .update(JSON.stringify([head, before]))
    .digest("hex");
}

/** Cache marks move from call to call and are no part of what is said. */
function plain(role: string, block: JsonObject): JsonValue {
  return [role, without("cache_control", block)];
}
