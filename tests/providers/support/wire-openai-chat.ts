import assert from "node:assert/strict";
import type { OpenAIChatBody } from "heddle/providers";

/** The rules of Chat Completions, read from the wire alone. */
export function checkOpenAIChat({ messages }: OpenAIChatBody): void {
  let open: string[] = [];
  const seen = new Set<string>();
  assert(messages.length > 0, "at least one message");
  for (const message of messages) {
    if (message.role === "tool") {
      assert(open.includes(message.tool_call_id), "a tool message answers a call of the message before the group");
      open = open.filter((id) => id !== message.tool_call_id);
      assert.equal(typeof message.content, "string");
      continue;
    }
    assert.deepEqual(open, [], "every call is answered before any other role speaks");
    if (message.role === "assistant") {
      const calls = message.tool_calls ?? [];
      assert(calls.length > 0 || (message.content ?? "") !== "", "the assistant has content or calls");
      assert(message.tool_calls === undefined || calls.length > 0, "no empty tool_calls");
      for (const { id, function: called } of calls) {
        assert.match(id, /^.{1,40}$/);
        assert(!seen.has(id), "ids are unique");
        seen.add(id);
        assert.equal(typeof JSON.parse(called.arguments), "object", "arguments are a JSON object as text");
      }
      open = calls.map(({ id }) => id);
    } else {
      assert(message.content.length > 0, "content is not empty");
    }
  }
  assert.deepEqual(open, [], "every call is answered");
}
