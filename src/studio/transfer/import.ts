import type { ThreadStore } from "../../stores/port.ts";
import { isPlainObject, type JsonObject, type JsonValue } from "../../thread/json.ts";
import { isFormat, type MessageFormat } from "../../thread/messages/formats.ts";
import { Thread } from "../../thread/thread.ts";
import { parsed, textOf } from "../http/body.ts";
import { badField, StudioError } from "../http/error.ts";
import { json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { rowOf } from "../threads/row.ts";
import { titleOf } from "../threads/titles.ts";

/** POST /api/import?format=: an export as JSON or JSONL, or a list of messages. Nothing there is overwritten. */
export async function importThread({ studio, request, query }: Call): Promise<Response> {
  const text = await textOf(request);
  if (text.trim() === "") throw badField("The body", "a thread or a list of messages");
  const thread = await readImport(studio, text, query.get("format") || undefined);
  await studio.store.save(thread);
  studio.forks.note(thread);
  studio.live.changes.ring();
  return json(await rowOf(studio, thread), 201);
}

/** The thread that a text holds, under an id that is free here; what its calls name is stored, it itself is not yet. */
export async function readImport(studio: Studio, text: string, format: string | undefined): Promise<Thread> {
  const { thread, blobs } = threadIn(studio, text, format);
  for (const blob of blobs) await studio.store.putBlob(blob);
  return underFreeId(studio, thread);
}

interface Imported {
  readonly thread: Thread;
  readonly blobs: readonly JsonValue[];
}

function threadIn(studio: Studio, text: string, format: string | undefined): Imported {
  if (format === "jsonl" || (format === undefined && isLines(text))) return fromLines(studio, text);
  const value = parsed(text, "The body");
  if (format === "json" || (format === undefined && isPlainObject(value))) return fromData(studio, value);
  if (!Array.isArray(value)) throw badField("The body", "a list of messages");
  if (format !== undefined && !isFormat(format)) throw badField("format", FORMATS);
  return { thread: fromMessages(studio, value, format), blobs: [] };
}

const FORMATS = "json, jsonl, neutral, openai-chat, anthropic, model-messages or ui-messages";

/** Several lines, each JSON by itself. */
function isLines(text: string): boolean {
  const [first = "", second = ""] = text.trim().split("\n", 2);
  if (second.trim() === "") return /^\{.*"format":"heddle\.thread\/1"/.test(first) && !/"entries":/.test(first);
  try {
    return isPlainObject(JSON.parse(first)) && isPlainObject(JSON.parse(second));
  } catch {
    return false;
  }
}

function fromLines(studio: Studio, text: string): Imported {
  const lines = text.split("\n").flatMap((line, index) => (line.trim() === "" ? [] : [lineOf(line, index)]));
  const [head, ...others] = lines;
  const isHead = head !== undefined && head["format"] !== undefined;
  const rest = isHead ? others : lines;
  const blobs = rest.flatMap(({ blob, content }) =>
    typeof blob === "string" && content !== undefined ? [content] : [],
  );
  const entries = rest.filter(({ blob }) => blob === undefined);
  const { createdAt = entries[0]?.["at"] ?? studio.ports.clock() } = head ?? {};
  const fields = isHead ? head : { format: "heddle.thread/1", id: studio.ports.ids("thread"), createdAt };
  return { thread: dataAsThread(studio, { ...fields, entries }), blobs };
}

function lineOf(line: string, index: number): JsonObject {
  const value = parsed(line, `Line ${index + 1}`);
  if (isPlainObject(value)) return value as JsonObject; // parsed JSON
  throw badField(`Line ${index + 1}`, "a JSON object");
}

function fromData(studio: Studio, value: JsonValue): Imported {
  const given = isPlainObject(value) ? value["blobs"] : undefined;
  const blobs = isPlainObject(given) ? Object.values(given).filter((blob) => blob !== undefined) : [];
  return { thread: dataAsThread(studio, value), blobs };
}

/** A request that was open elsewhere is not gone on with here unasked, so nothing says that one is. */
function dataAsThread({ ports }: Studio, data: JsonValue): Thread {
  const thread = Thread.fromJSON(data, ports);
  if (thread.firstSeq > 0) {
    const message = "Only whole threads can be imported, and this one begins in the middle.";
    throw new StudioError({ code: "invalid_request", status: 400, message });
  }
  const { status, ...metadata } = thread.metadata;
  const isOpen = status === "running" || status === "waiting";
  return renamed(thread, thread.id, isOpen ? metadata : thread.metadata);
}

function fromMessages({ ports, agent }: Studio, list: readonly JsonValue[], format: MessageFormat | undefined): Thread {
  const first = list.find((message) => isPlainObject(message) && message["role"] === "user") as JsonObject | undefined;
  const title = titleOf(first?.["content"] ?? first?.["parts"]);
  const metadata = { agent: agent.name, ...(title && { title }) };
  return Thread.fromMessages(list, { ...ports, metadata, ...(format && { format }) });
}

/** Two threads of one id are two versions of one story: the second gets an id of its own. */
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
