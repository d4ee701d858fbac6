// Append, load, read. Give it a store of your own: append-and-read.ts sqlite:./my.db
import { openStore } from "heddle";

const store = await openStore(process.argv[2] ?? "memory:");

const { rev, entries } = await store.append("thread_1", [
  { kind: "message", payload: { role: "user", content: "What's 2+2?" }, refs: { requestId: "request_1" } },
  {
    kind: "tool_call",
    payload: { id: "c1", name: "add", arguments: { a: 2, b: 2 } },
    refs: { requestId: "request_1" },
  },
  { kind: "tool_result", payload: { toolCallId: "c1", name: "add", result: 4 }, refs: { requestId: "request_1" } },
  { kind: "message", payload: { role: "assistant", content: "4" }, refs: { requestId: "request_1" } },
]);
console.log(`appended ${entries.length} entries; the thread is at revision ${rev}`);

// A Thread is the whole history as an immutable value.
const thread = await store.load("thread_1");
for (const { payload } of thread?.filterByKind("tool_call") ?? []) console.log(`the model called ${payload.name}`);
console.log(`${thread?.filterByRef("requestId", "request_1").length} entries belong to request_1`);

// read() gives entries one by one: here the newest first, and only messages.
for await (const { seq, payload } of store.read("thread_1", { kinds: ["message"], reverse: true, limit: 2 })) {
  console.log(`seq ${seq}: ${payload["role"]} said ${payload["content"]}`);
}

// The last two entries of a long thread, without touching the rest.
const tail = await store.load("thread_1", { last: 2 });
console.log(`loaded from seq ${tail?.firstSeq} to ${tail?.lastSeq}, revision ${tail?.rev}`);

await store.close();
