// A thread on a real SQLite file, step by step. It needs no API key.
import { spawnSync } from "node:child_process";
import { DatabaseSync } from "node:sqlite";
import { fileURLToPath } from "node:url";
import { styleText } from "node:util";
import { ConflictError, type Entry, type EntryInput, HeddleError } from "heddle";
import { sqliteStore } from "heddle/sqlite";

const [, , file = "heddle.db", part] = process.argv;
const threadId = "story";

process.stdout.on("error", () => process.exit()); // the reader of the pipe has closed it, as `head` does
try {
  await (part === "ask" ? askAndDie() : tell());
} catch (error) {
  if (!HeddleError.isInstance(error)) throw error;
  console.error(`${file}: ${error.message} (${error.code})`);
  process.exitCode = 1;
}

/** In a process of its own: writes the question and the model's tool call, and is killed before the tool answers. */
async function askAndDie(): Promise<void> {
  const store = sqliteStore(file);
  const rev = (await store.load(threadId, { last: 0 }))?.rev ?? 0;
  const question = rev === 0 ? "What is the weather in Bern?" : "And now?";
  await store.append(threadId, message("user", question), { expectedRev: rev });
  const call = { id: `call_${rev}`, name: "weather", arguments: { city: "Bern" } };
  await store.append(threadId, { kind: "tool_call", payload: call });
  process.kill(process.pid, "SIGKILL");
}

async function tell(): Promise<void> {
  console.log(`A thread is a log of entries. This one is in ${file}; the answers of the model are made up.`);

  heading("A person asks, the model calls a tool, and the process is killed before the tool answers.");
  const child = spawnSync(process.execPath, [fileURLToPath(import.meta.url), file, "ask"], { encoding: "utf8" });
  say(`the process ended: ${child.signal ?? child.status}`);

  heading("Another process opens the file. Everything is there; the call has no result yet.");
  const store = sqliteStore(file);
  const thread = await store.load(threadId);
  const call = thread?.filterByKind("tool_call").at(-1);
  if (thread === undefined || call?.seq !== thread.lastSeq)
    throw new Error(`The asking process failed.\n${child.stderr}`);
  if (call.seq > 1) say(`seq 0 to ${call.seq - 2} are from earlier runs: the thread continues`);
  for (const entry of thread.slice(call.seq - 1, call.seq)) show(entry);

  heading("It continues from there: the tool's result and the model's answer, in one append.");
  const callId = call.payload.id ?? "";
  const words = message("assistant", "Rain, 14 degrees.", `answer_${callId}`);
  const answer = [result(callId, { sky: "rain", degrees: 14 }), words];
  const { entries, rev } = await store.append(threadId, answer, { expectedRev: thread.rev });
  for (const entry of entries) show(entry);

  heading("The same append again, as after a lost acknowledgement. Its entries carry ids: nothing is written twice.");
  const again = await store.append(threadId, answer, { expectedRev: thread.rev });
  say(`replayed: ${again.replayed}, revision ${again.rev}`);

  heading("A writer that has not read the answer appends. It is refused and nothing is written.");
  const late = store.append(threadId, message("user", "Hello?"), { expectedRev: thread.rev });
  const refused = await late.catch((error: unknown) => error);
  if (ConflictError.isInstance(refused)) say(`${refused.name}, code "${refused.code}": ${refused.message}`);

  heading("The last row as it lies in the file: readable text, and a hash over itself and the row before.");
  for (const [column, value] of Object.entries(storedRow(rev - 1))) say(`${column.padEnd(8)} ${value}`);

  heading("verify() computes every hash again.");
  const report = await store.verify(threadId);
  say(`ok: ${report.ok}, entries: ${report.entries}, hash of the last: ${report.hash}`);

  heading("A fork at the call: what if the tool had failed? The two share their past, the first stays as it is.");
  const fork = await store.fork(threadId, { atSeq: call.seq });
  await store.append(fork.id, [result(callId, { error: "timeout" }), message("assistant", "I cannot find out.")]);
  for await (const entry of store.read(fork.id, { fromSeq: call.seq })) show(entry);
  say(`stored as ${fork.id}`);

  await store.close();
  console.log(`\nRun it again and the thread continues; delete ${file} to start over.`);
  console.log("The code: examples/story.ts. The columns of a row: docs/format.md. The promises: README.md.");
}

function message(role: "user" | "assistant", content: string, id?: string): EntryInput {
  return { id, kind: "message", payload: { role, content } };
}

function result(toolCallId: string, value: { readonly [key: string]: string | number }): EntryInput {
  return { id: `result_${toolCallId}`, kind: "tool_result", payload: { toolCallId, name: "weather", result: value } };
}

/** Read without Heddle: the file is plain SQLite. docs/format.md describes the columns. */
function storedRow(seq: number): Record<string, unknown> {
  const database = new DatabaseSync(file, { readOnly: true });
  const columns = "e.seq, e.id, e.kind, e.payload, e.salt, e.hash, e.lane, e.measure";
  const query = `SELECT ${columns} FROM entries e JOIN threads t ON t.key = e.thread WHERE t.id = ? AND e.seq = ?`;
  const row = database.prepare(query).get(threadId, seq) ?? {};
  database.close();
  return row;
}

function show(entry: Entry): void {
  say(`seq ${String(entry.seq).padStart(2)}  ${entry.kind.padEnd(11)}  ${textOf(entry)}`);
}

/** A comparison of `kind` narrows the type of the payload. */
function textOf(entry: Entry): string {
  if (entry.kind === "message") return `${entry.payload.role}: ${entry.payload.content}`;
  if (entry.kind === "tool_call") return `${entry.payload.name} ${JSON.stringify(entry.payload.arguments)}`;
  if (entry.kind === "tool_result") return `${entry.payload.name} ${JSON.stringify(entry.payload.result)}`;
  return JSON.stringify(entry.payload);
}

function heading(text: string): void {
  console.log(`\n${styleText("bold", text)}`);
}

function say(text: string): void {
  console.log(`  ${text}`);
}
