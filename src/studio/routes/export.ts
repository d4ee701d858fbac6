import { callIn } from "../../runtime/calls/find-call.ts";
import { callBlob } from "../../runtime/calls/rebuild-call.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import type { Entry } from "../../thread/entry.ts";
import { escapeHidden, HIDDEN } from "../../thread/hidden-characters.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { ThreadRow } from "../contract.ts";
import { oneOf } from "../http/request.ts";
import { download, textStream } from "../http/response.ts";
import type { RouteCall } from "../http/router.ts";
import { rowOf } from "./thread.ts";

/** GET /api/threads/{id}/export. Streams the entries, so a long thread is never completely in memory. */
export async function exportThread({ studio, query, param }: RouteCall): Promise<Response> {
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

/** Yields the JSON that `Thread.fromJSON` reads, plus the blobs with which calls are rebuilt. */
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

/** Yields one line for the thread and one for each entry. A blob comes before the first call that refers to it. */
async function* linesOf(store: ThreadStore, head: Head): AsyncGenerator<string, void> {
  yield `${JSON.stringify(head)}\n`;
  const sent = new Set<string>();
  for await (const entry of entriesOf(store, head)) {
    for (const blob of blobsIn(entry).filter((hash) => !sent.has(hash))) {
      sent.add(blob);
      const content = await blobOf(store, blob);
      if (content !== undefined) yield `${JSON.stringify({ blob, content })}\n`;
    }
    yield `${JSON.stringify(entry)}\n`;
  }
}

function entriesOf(store: ThreadStore, { id, rev }: Head): AsyncIterable<Entry> | readonly Entry[] {
  return rev === 0 ? [] : store.read(id, { fromSeq: 0, toSeq: rev - 1 }); // entries appended later are not part of this export
}

function blobsIn(entry: Entry): readonly string[] {
  const { policy, environment, sent } = callIn(entry)?.record ?? {};
  return [policy, environment, sent].filter((hash) => hash !== undefined);
}

/** Returns a blob, or undefined if it is missing. Then a call cannot be rebuilt, but the thread is complete. */
async function blobOf(store: ThreadStore, hash: string): Promise<JsonValue | undefined> {
  return callBlob(store, hash, "blob").catch(() => undefined);
}

const PLACE = /(<script\b[^>]*\bid="heddle-data"[^>]*>)[^<]*(<\/script>)/;

/**
 * Yields one self-contained page: a template with the data in the script `heddle-data`. Every "<" in the data is
 * escaped, so that no message can end the script. Hidden characters are escaped too, so that readers of the file see
 * them.
 */
async function* htmlOf(
  template: string | undefined,
  row: ThreadRow,
  thread: AsyncIterable<string>,
): AsyncGenerator<string, void> {
  const page = template !== undefined && PLACE.test(template) ? template : PLAIN;
  const [whole = "", open = "", close = ""] = PLACE.exec(page) ?? [];
  const index = page.indexOf(whole);
  const after = page.slice(index + whole.length);
  yield `${page.slice(0, index)}${open}{"row":${escaped(JSON.stringify(row))},"thread":`;
  for await (const part of thread) yield escaped(part);
  yield `}${close}${after}`;
}

function escaped(json: string): string {
  return escapeHidden(json.replaceAll("<", "\\u003c"));
}

/** A minimal page that lists the entries. Used if Studio's page was not built. */
const PLAIN = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Heddle thread</title>
<style>
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 52rem; margin: 2rem auto; padding: 0 1rem }
article { border-top: 1px solid color-mix(in srgb, currentColor 20%, transparent); padding: .6rem 0 }
h2 { font-size: .85rem; margin: 0; opacity: .7; font-weight: 500 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0 0; font: inherit }
</style>
<h1></h1>
<main></main>
<script type="application/json" id="heddle-data"></script>
<script>
const { row, thread } = JSON.parse(document.getElementById("heddle-data").textContent);
const visible = (text) => String(text).replace(/${HIDDEN.source}/gu, (character) =>
  Array.from({ length: character.length }, (_, at) => "\\\\u" + character.charCodeAt(at).toString(16).padStart(4, "0")).join(""));
document.title = document.querySelector("h1").textContent = visible(row.title);
const text = (content) => typeof content === "string" ? content
  : Array.isArray(content) ? content.map((part) => part.text ?? "[" + part.type + "]").join("\\n") : undefined;
for (const { seq, at, kind, payload } of thread.entries) {
  const article = document.createElement("article");
  const title = document.createElement("h2");
  title.textContent = visible([seq, kind, payload.role, payload.name, new Date(at).toISOString()].filter((part) => part !== undefined).join(" \\u00b7 "));
  const body = document.createElement("pre");
  const calls = (payload.toolCalls ?? []).map((call) => call.name + " " + JSON.stringify(call.arguments));
  body.textContent = visible([text(payload.content) ?? JSON.stringify(payload, null, 2), ...calls].filter(Boolean).join("\\n"));
  article.append(title, body);
  document.querySelector("main").append(article);
}
</script>
</html>
`;
