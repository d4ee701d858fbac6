import type { Message } from "heddle";
import { expect, test } from "vitest";
import { implementations } from "../projection/support/implementations.ts";
import { always } from "../projection/support/trial.ts";

test.each(implementations)("%s: right behind its calls stand their results, all of them and no other", (_, project) => {
  always(project, ({ messages }) => {
    for (const [index, message] of messages.entries()) {
      const results = resultsBehind(messages, index).map(({ toolCallId, name }) => ({ id: toolCallId, name }));
      const calls = message.role === "assistant" ? (message.toolCalls ?? []) : [];
      if (message.role !== "tool") expect(results).toEqual(calls.map(({ id, name }) => ({ id, name })));
    }
    const ids = messages.flatMap((message) => (message.role === "assistant" ? (message.toolCalls ?? []) : []));
    expect(new Set(ids.map(({ id }) => id)).size).toBe(ids.length);
    expect(messages[0]?.role).not.toBe("tool");
  });
});

function resultsBehind(messages: readonly Message[], index: number) {
  const next = messages.slice(index + 1);
  const end = next.findIndex(({ role }) => role !== "tool");
  return next.slice(0, end < 0 ? next.length : end).flatMap((message) => (message.role === "tool" ? [message] : []));
}
