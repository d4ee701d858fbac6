import { scheduleOfSaved } from "../../stores/methods/waiting.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { firstWords } from "../../stores/sums.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { isFormat, type MessageFormat } from "../../thread/messages/formats.ts";
import { Thread } from "../../thread/thread.ts";
import type { ThreadRow } from "../contract.ts";
import { parsed, textParts } from "../http/request.ts";
import { badField, type JsonResponse, json, StudioError } from "../http/response.ts";
import type { RouteCall } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { rowOf } from "./thread.ts";

/** How many entries are written at once. Small batches let other requests run in between. */
const BATCH = 2000;

/** POST /api/import?format=: imports an export (JSON or JSONL) or a list of messages. Nothing is overwritten. */
export async function importThread({ studio, request, query }: RouteCall): Promise<JsonResponse<ThreadRow>> {
  const parts = textParts(request, studio.importLimit);
  const thread = await readImport(studio, parts, query.get("format") || undefined);
  await saveImport(studio.store, thread);
  studio.forks.note(thread);
  studio.live.changes.notify();
  return json(await rowOf(studio, thread), 201);
}

/** Reads a thread from text and gives it an unused id. Stores its blobs, but not the thread. */
export async function readImport(studio: Studio, parts: Parts, format: string | undefined): Promise<Thread> {
  const { thread, blobs } = await threadIn(studio, parts, format);
  const imported = await underFreeId(studio, thread);
  for (const blob of blobs) await studio.store.putBlob(blob, { threadId: imported.id });
  return imported;
}

/** Writes a thread in batches. After a failure, the part already written is deleted. */
export async function saveImport(
  store: ThreadStore,
  thread: Thread,
  onProgress: (done: number, all: number) => Promise<void> = async () => undefined,
): Promise<void> {
  const { id, rev } = thread;
  if (rev <= BATCH) return store.save(thread);
  const { status, ...metadata } = thread.metadata;
  await store.save(renamed(thread.upTo(BATCH - 1), id, metadata)); // without its status no worker takes a part of it
  try {
    for (let from = BATCH; from < rev; from += BATCH) {
      await onProgress(from, rev);
      const batch = thread.slice(from, Math.min(rev, from + BATCH) - 1).map(({ seq: _place, ...entry }) => entry);
      await store.append(id, batch, { expectedRev: from, create: false });
    }
    if (status !== undefined) {
      const schedule = store.runnable && scheduleOfSaved(thread, Date.now);
      await store.append(id, [], { create: false, metadata: { status }, ...schedule });
    }
  } catch (error) {
    await store.delete(id);
    throw error;
  }
}

interface Imported {
  readonly thread: Thread;
  readonly blobs: readonly JsonValue[];
}

async function threadIn(studio: Studio, parts: Parts, format: string | undefined): Promise<Imported> {
  const lines = linesOf(parts);
  const first = await begun(lines);
  if (first.every((line) => line.trim() === "")) throw badField("The body", "a thread or a list of messages");
  if (format === "jsonl" || (format === undefined && isLines(first))) return fromLines(studio, first, lines);
  for await (const line of lines) first.push(line);
  const value = parsed(first.join("\n"), "The body");
  if (format === "json" || (format === undefined && isPlainObject(value))) return fromData(studio, value);
  if (!Array.isArray(value)) throw badField("The body", "a list of messages");
  if (format !== undefined && !isFormat(format)) throw badField("format", FORMATS);
  return { thread: fromMessages(studio, value, format), blobs: [] };
}

const FORMATS = "json, jsonl, neutral, openai-chat, anthropic, model-messages or ui-messages";

/** Reads until two lines are not empty. They show whether the text is JSON or JSON Lines. */
async function begun(lines: AsyncGenerator<string, void>): Promise<string[]> {
  const first: string[] = [];
  for (let full = 0; full < 2; ) {
    const { done, value } = await lines.next();
    if (done) break;
    first.push(value);
    if (value.trim() !== "") full += 1;
  }
  return first;
}

/** Whether the text is JSON Lines. */
function isLines(begun: readonly string[]): boolean {
  const [first = "", second] = begun.filter((line) => line.trim() !== "");
  if (second === undefined) return /^\s*\{.*"format":"heddle\.thread\/1"/.test(first) && !/"entries":/.test(first);
  try {
    return isPlainObject(JSON.parse(first)) && isPlainObject(JSON.parse(second));
  } catch {
    return false;
  }
}

/** Parses each line as it arrives, so that the whole text is never in memory. */
async function fromLines(studio: Studio, first: readonly string[], rest: AsyncIterable<string>): Promise<Imported> {
  let head: JsonObject | undefined;
  const blobs: JsonValue[] = [];
  const entries: JsonObject[] = [];
  let at = 0;
  const take = (line: string): void => {
    const number = ++at;
    if (line.trim() === "") return;
    const value = lineOf(line, number);
    const { blob, content } = value;
    if (head === undefined && entries.length === 0 && value["format"] !== undefined) head = value;
    else if (blob === undefined) entries.push(value);
    else if (typeof blob === "string" && content !== undefined) blobs.push(content);
  };
  for (const line of first) take(line);
  for await (const line of rest) take(line);
  const createdAt = head?.["createdAt"] ?? entries[0]?.["at"] ?? studio.ports.clock();
  const fields = head ?? { format: "heddle.thread/1", id: studio.ports.ids("thread") };
  return { thread: dataAsThread(studio, { ...fields, createdAt, entries }), blobs };
}

function lineOf(line: string, number: number): JsonObject {
  const value = parsed(line, `Line ${number}`);
  if (isPlainObject(value)) return value as JsonObject; // parsed JSON
  throw badField(`Line ${number}`, "a JSON object");
}

function fromData(studio: Studio, value: JsonValue): Imported {
  const given = isPlainObject(value) ? value["blobs"] : undefined;
  const blobs = isPlainObject(given) ? Object.values(given).filter((blob) => blob !== undefined) : [];
  return { thread: dataAsThread(studio, value), blobs };
}

/** Makes a thread without the status of a request that runs: Studio must not resume it. One that waits may be decided on. */
function dataAsThread({ ports }: Studio, data: JsonValue): Thread {
  const thread = Thread.fromJSON(data, { clock: ports.clock, ids: ports.ids });
  if (thread.firstSeq > 0) {
    const message =
      "Only whole threads can be imported. This one begins in the middle: export it again, or import a full export.";
    throw new StudioError({ code: "invalid_request", status: 400, message });
  }
  const { status, ...metadata } = thread.metadata;
  return renamed(thread, thread.id, status === "running" ? metadata : thread.metadata);
}

function fromMessages({ ports, agent }: Studio, list: readonly JsonValue[], format: MessageFormat | undefined): Thread {
  const first = list.find((message) => isPlainObject(message) && message["role"] === "user") as JsonObject | undefined;
  const title = firstWords(first?.["content"] ?? first?.["parts"]);
  const metadata = { agent: agent.name, ...(title && { title }) };
  const { clock, ids } = ports;
  return Thread.fromMessages(list, { clock, ids, metadata, ...(format && { format }) });
}

/** Returns the thread with a new id if its id is used already. */
async function underFreeId({ store, ports }: Studio, thread: Thread): Promise<Thread> {
  if (!(await isThere(store, thread.id))) return thread;
  return renamed(thread, ports.ids("thread"), { ...thread.metadata, importedFrom: thread.id });
}

async function isThere(store: ThreadStore, id: string): Promise<boolean> {
  return (await store.load(id, { last: 1 })) !== undefined;
}

function renamed(thread: Thread, id: string, metadata: JsonObject): Thread {
  const { createdAt } = thread;
  return Thread.assemble({ id, createdAt, metadata, entries: thread.toArray(), firstSeq: 0, base: undefined });
}

/** Text in parts. A part may end anywhere, also inside a line. */
type Parts = AsyncIterable<string> | Iterable<string>;

/** Splits the joined parts into lines. */
export async function* linesOf(parts: Parts): AsyncGenerator<string, void> {
  const open: string[] = [];
  for await (const part of parts) {
    const [first = "", ...rest] = part.split("\n");
    open.push(first);
    const last = rest.pop();
    if (last === undefined) continue;
    yield open.join("");
    yield* rest;
    open.length = 0;
    open.push(last);
  }
  yield open.join("");
}
