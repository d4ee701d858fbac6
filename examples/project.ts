// The context of a model call: a thread with an interrupted call and a stray result becomes a legal list of messages.
import { project, Thread, type ToolSpec } from "heddle";
import { toOpenAIChat, validateMessages } from "heddle/providers";

const message = (role: string, content: string) => ({ kind: "message", payload: { role, content } });
const call = (id: string, city: string) => ({
  kind: "tool_call",
  payload: { id, name: "weather", arguments: { city } },
});
const result = (toolCallId: string, sky: string) => ({
  kind: "tool_result",
  payload: { toolCallId, name: "weather", result: { ok: true, value: { sky } } },
});

const thread = Thread.create().append([
  message("user", "Is it nicer in Bern or in Oslo?"),
  call("c1", "Bern"),
  call("c2", "Oslo"),
  result("c1", "rain"),
  message("user", "Are you still there?"), // the process was killed before Oslo had answered
  { kind: "note", payload: { text: "for us, not for the model" } },
  result("c9", "hail"), // of a call that does not exist
]);

const tools: readonly ToolSpec[] = [{ name: "weather", inputSchema: { type: "object" } }];
const { messages, toolSpec, meta } = project({ thread, tools, system: "Be brief.", pending: "And in Rome?" });

for (const shown of messages) {
  const calls = shown.role === "assistant" ? (shown.toolCalls ?? []) : [];
  const words = calls.map(({ id, name, arguments: args }) => `${name} ${JSON.stringify(args)} (${id})`).join(", ");
  console.log(`${shown.role.padEnd(9)}  ${words || shown.content}`);
}

console.log(`\n${meta.messagesIncluded} messages of ${meta.entriesIncluded} entries, ${meta.estimatedTokens} tokens`);
console.log(`the call of entry ${meta.repaired.calls} was closed, the result of entry ${meta.dropped} left out`);
console.log(`the thread is as it was: ${thread.rev} entries`);
const refused = (["openai-chat", "openai-responses", "anthropic", "gemini"] as const).filter(
  (provider) => validateMessages(messages, provider).length > 0,
);
console.log(`providers that would refuse it: ${refused.length}`);
console.log(
  `as OpenAI takes it: ${toOpenAIChat(messages, toolSpec)
    .messages.map(({ role }) => role)
    .join(", ")}`,
);
