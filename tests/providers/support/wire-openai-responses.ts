import assert from "node:assert/strict";
import type { OpenAIResponsesBody } from "heddle/providers";

/** The rules of the Responses API, read from the wire alone. */
export function checkOpenAIResponses({ input, store }: OpenAIResponsesBody): void {
  const calls = new Set<string>();
  const outputs = new Set<string>();
  assert.equal(store, false);
  for (const [index, item] of input.entries()) {
    if ("role" in item) {
      assert(item.content.length > 0, "content is not empty");
      continue;
    }
    switch (item.type) {
      case "function_call":
        assert(!calls.has(item.call_id), "call ids are unique");
        assert.equal(typeof JSON.parse(item.arguments), "object");
        calls.add(item.call_id);
        break;
      case "function_call_output":
        assert(calls.has(item.call_id), "No tool call found for function call output");
        assert(!outputs.has(item.call_id), "one output for each call");
        outputs.add(item.call_id);
        break;
      case "reasoning": {
        assert(item.encrypted_content.length > 0, "with store: false reasoning carries its content");
        const next = input.slice(index + 1).find((later) => "role" in later || later.type !== "reasoning");
        const follows =
          next !== undefined && ("role" in next ? next.role === "assistant" : next.type === "function_call");
        assert(follows, "reasoning was provided without its required following item");
        break;
      }
      default:
        item satisfies never;
    }
  }
  assert.deepEqual([...calls].sort(), [...outputs].sort(), "No tool output found for function call");
}
