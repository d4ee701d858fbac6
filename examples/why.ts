// Why is it in, why is it out? explain() says it for every entry of a thread.
import { explain, project, Thread } from "heddle";

const message = (role: string, content: string) => ({ kind: "message", payload: { role, content } });
const call = (id: string) => ({ kind: "tool_call", payload: { id, name: "read", arguments: { file: `${id}.txt` } } });
const result = (toolCallId: string, text: string) => ({
  kind: "tool_result",
  payload: { toolCallId, name: "read", result: text },
});

const thread = Thread.create().append([
  message("user", "I write a book about looms, in English."),
  message("assistant", "Good to know."),
  { kind: "summary", payload: { fromSeq: 0, toSeq: 1, content: "The user writes a book about looms, in English." } },
  message("user", "What did we say of heddles?"),
  message("assistant", "They lift the threads. ".repeat(30)),
  message("user", "Read my three chapters."),
  call("one"),
  result("one", "Of threads. ".repeat(60)),
  call("two"),
  result("two", "Of looms. ".repeat(60)),
  { kind: "note", payload: { text: "disk 80 % full" } },
  call("three"),
  result("two", "Of looms, once more."),
]);

const policy = { maxInputTokens: 360, reserveOutputTokens: 100, keepLastTurns: 1, toolResults: { maxTokens: 60 } };
for (const { seq, kind, status, rule, tokens } of explain({ thread, policy })) {
  console.log(`${String(seq).padStart(2)}  ${kind.padEnd(11)}  ${status.padEnd(15)}  ${rule.padEnd(19)}  ${tokens}`);
}

const { estimatedTokens, cutSeq, needsSummary } = project({ thread, policy }).meta;
console.log(`\n${estimatedTokens} tokens, the window starts at ${cutSeq}, a summary is due: ${needsSummary}`);
