import assert from "node:assert/strict";
import type { AnthropicBody } from "heddle/providers";

/** The rules of the Messages API, read from the wire alone. */
export function checkAnthropic({ system = [], messages, tools = [] }: AnthropicBody): void {
  assert.equal(messages[0]?.role, "user", "the user speaks first");
  assert.equal(messages.at(-1)?.role, "user", "the list does not end with an answer");
  const seen = new Set<string>();
  let open: string[] = [];
  for (const [index, { role, content }] of messages.entries()) {
    assert(content.length > 0, "content is not empty");
    assert.notEqual(role, messages[index - 1]?.role, "roles alternate");
    const results = content.flatMap((block) => (block.type === "tool_result" ? [block.tool_use_id] : []));
    assert.deepEqual(results, open, "the results of all calls right behind them, each once, in order");
    assert(
      content.slice(0, results.length).every(({ type }) => type === "tool_result"),
      "results come before anything else",
    );
    open = [];
    for (const block of content) {
      if (block.type === "text") assert.match(block.text, /\S/, "text must contain non-whitespace text");
      if (block.type === "tool_use") {
        assert.equal(role, "assistant");
        assert.match(block.id, /^[a-zA-Z0-9_-]{1,64}$/);
        assert(!seen.has(block.id), "tool_use ids are unique");
        assert(typeof block.input === "object" && !Array.isArray(block.input));
        seen.add(block.id);
        open.push(block.id);
      }
      if (block.type === "thinking")
        assert(role === "assistant" && block.signature !== "" && !("cache_control" in block));
      if (block.type === "redacted_thinking") assert(block.data !== "" && !("cache_control" in block));
      if (block.type === "tool_result" && block.is_error) assert.equal(typeof block.content, "string");
    }
  }
  const marks = JSON.stringify([system, messages, tools]).split('"cache_control"').length - 1;
  assert(marks <= 4, "four cache breakpoints at most");
}
