import type { JsonObject } from "heddle";
import type { Asked } from "../api.ts";
import { objectOf, objectsOf, textOf } from "../json.ts";
import { refuse } from "./errors.ts";

/** What Google documents for calls whose signature was lost. */
const SENTINELS = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"];

/** From Gemini 3 on, the first call of each step of the current turn shows the thought it came from. */
export function checkSignatures(contents: readonly JsonObject[], { model, world }: Asked): void {
  if (!/gemini-(?:[3-9]|\d\d)/.test(model)) return;
  const current = contents.findLastIndex(({ role, parts }) => role === "user" && !objectsOf(parts).every(isResponse));
  for (const [index, { role, parts }] of contents.entries()) {
    if (index < current || role !== "model") continue;
    const calls = objectsOf(parts).filter(({ functionCall }) => functionCall !== undefined);
    const [first] = calls;
    if (first !== undefined && first["thoughtSignature"] === undefined) {
      const name = textOf(objectOf(first["functionCall"])["name"]);
      refuse(
        "missing_thought_signature",
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and " +
          "missing thought_signature may lead to degraded model performance. Additional data, function call " +
          `\`default_api:${name}\` , position ${index + 1}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.`,
      );
    }
    for (const part of objectsOf(parts)) checkSignature(part, world);
  }
}

function checkSignature(part: JsonObject, world: Asked["world"]): void {
  const signature = textOf(part["thoughtSignature"]);
  if (signature === undefined || SENTINELS.includes(signature)) return;
  const sealed = world.sealed("gemini", signature);
  if (sealed === undefined) refuse("foreign_thinking", "Thought signature is not valid");
  if (sealed.content !== undefined && sealed.content !== signedContent(part)) {
    refuse("altered_thinking", "Corrupted thought signature.");
  }
}

/** A signature belongs to one call; which piece of a text it comes back with is left to the client. */
export function signedContent({ functionCall }: JsonObject): string {
  if (functionCall === undefined) return "text";
  const { name, args } = objectOf(functionCall);
  return JSON.stringify([name, args ?? {}]);
}

function isResponse({ functionResponse }: JsonObject): boolean {
  return functionResponse !== undefined;
}
