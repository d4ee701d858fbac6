import { callIn } from "../../runtime/calls/find-call.ts";
import { callBlob } from "../../runtime/calls/render-call.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import { oneOf } from "../http/fields.ts";
import { download, textStream } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import { rowOf } from "../threads/row.ts";
import { htmlOf } from "./html.ts";

/** GET /api/threads/{id}/export. Entries are streamed, so a long thread is never whole in memory. */
export async function exportThread({ studio, query, param }: Call): Promise<Response> {
  const id = param("id");
  const format = oneOf(["json", "jsonl", "html"], query.get("format") || "json", "format");
  const thread = await studio.store.load(id, { last: 1 });
  if (thread === undefined) throw threadNotFound(id);
  const { rev, createdAt, updatedAt, metadata } = thread;
  const head = { format: "heddle.thread/1", id, rev, createdAt, updatedAt, metadata };
  const name = `heddle-${id}.${format}`;
  switch (format) {
    case "json":
      return download(textStream(jsonOf(studio.store, head)), "application/json; charset=utf-8", name);
    case "jsonl":
      return download(textStream(linesOf(studio.store, head)), "application/jsonl; charset=utf-8", name);
    case "html": {
      const row = await rowOf(studio, thread);
      const page = await studio.page?.exportTemplate();
      return download(textStream(htmlOf(page, row, jsonOf(studio.store, head))), "text/html; charset=utf-8", name);
    }
    default:
      return format satisfies never;
  }
}

interface Head {
  readonly id: string;
  readonly rev: number;
  readonly metadata: JsonObject;
}

/** The format of `Thread.fromJSON`, plus the blobs of the calls, so that the calls can be rebuilt. */
async function* jsonOf(store: ThreadStore, head: Head): AsyncGenerator<string, void> {
  yield `${JSON.stringify(head).slice(0, -1)},"entries":[`;
  const hashes = new Set<string>();
  let first = true;
  for await (const entry of entriesOf(store, head)) {
    for (const hash of blobsIn(entry)) hashes.add(hash);
    yield `${first ? "" : ","}\n${JSON.stringify(entry)}`;
    first = false;
  }
  yield '],\n"blobs":{';
  first = true;
  for (const hash of hashes) {
    const content = await blobOf(store, hash);
    if (content === undefined) continue;
    yield `${first ? "" : ","}\n${JSON.stringify(hash)}:${JSON.stringify(content)}`;
    first = false;
  }
  yield "}}\n";
}

/** One line for the thread and one for each entry. A blob gets a line before the first call that names it. */
async function* linesOf(store: ThreadStore, head: Head): AsyncGenerator<string, void> {
  yield `${JSON.stringify(head)}\n`;
  const told = new Set<string>();
  for await (const entry of entriesOf(store, head)) {
    for (const blob of blobsIn(entry).filter((hash) => !told.has(hash))) {
      told.add(blob);
      const content = await blobOf(store, blob);
      if (content !== undefined) yield `${JSON.stringify({ blob, content })}\n`;
    }
    yield `${JSON.stringify(entry)}\n`;
  }
}

function entriesOf(store: ThreadStore, { id, rev }: Head): AsyncIterable<Entry> | readonly Entry[] {
  return rev === 0 ? [] : store.read(id, { fromSeq: 0, toSeq: rev - 1 }); // later entries do not belong to this head
}

function blobsIn(entry: Entry): readonly string[] {
  const { policy, environment, sent } = callIn(entry)?.record ?? {};
  return [policy, environment, sent].filter((hash) => hash !== undefined);
}

/** Undefined if the blob is missing: the call cannot be rebuilt then, but the thread is complete. */
async function blobOf(store: ThreadStore, hash: string): Promise<JsonValue | undefined> {
  return callBlob(store, hash, "blob").catch(() => undefined);
}
