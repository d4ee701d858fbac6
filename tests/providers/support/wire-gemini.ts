import assert from "node:assert/strict";
import type { GeminiBody, GeminiPart } from "heddle/providers";

/** The rules of generateContent, read from the wire alone. */
export function checkGemini({ contents }: GeminiBody): void {
  assert.equal(contents[0]?.role, "user");
  assert.equal(contents.at(-1)?.role, "user", "Requests ending with a model turn are not supported");
  const lastAsk = contents.findLastIndex(
    ({ role, parts }) => role === "user" && parts.some((part) => !isResponse(part)),
  );
  for (const [index, { role, parts }] of contents.entries()) {
    assert(parts.length > 0, "contents.parts must not be empty");
    const before = contents[index - 1];
    const called = before?.role === "model" ? before.parts.flatMap(callName) : [];
    const given = parts.flatMap((part) => ("functionResponse" in part ? [part.functionResponse.name] : []));
    assert.deepEqual(given, called, "as many responses as calls, in their order");
    if (given.length > 0) assert(parts.every(isResponse), "responses stand alone in their content");
    if (role === "user") {
      assert(parts.every((part) => !("functionCall" in part) && !("thought" in part)));
      continue;
    }
    assert.equal(before?.role, "user", "a model turn comes right after a user or response turn");
    const first = parts.find((part) => "functionCall" in part);
    if (index > lastAsk && first !== undefined) {
      assert(first.thoughtSignature, "the first call of a step in the current turn carries a thought signature");
    }
  }
}

function isResponse(part: GeminiPart): boolean {
  return "functionResponse" in part;
}

function callName(part: GeminiPart): readonly string[] {
  return "functionCall" in part ? [part.functionCall.name] : [];
}
