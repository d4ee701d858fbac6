import { escapeHidden } from "../../thread/hidden-characters.ts";
import type { ThreadRow } from "../contract/thread.ts";

const PLACE = /(<script\b[^>]*\bid="heddle-data"[^>]*>)[^<]*(<\/script>)/;

/**
 * One self-contained page: a template with the data in the script `heddle-data`. The data has every "<" escaped, so that no
 * message can end the script. Hidden characters are escaped too, so that the file shows what it contains.
 */
export async function* htmlOf(
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

/** A simple page, for a package whose page was not built. */
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
document.title = document.querySelector("h1").textContent = row.title;
const visible = (json) => json.replace(/[\\p{Cf}\\p{Default_Ignorable_Code_Point}\\p{Zl}\\p{Zp}\\u007f-\\u009f]/gu, (character) =>
  Array.from({ length: character.length }, (_, at) => "\\\\u" + character.charCodeAt(at).toString(16).padStart(4, "0")).join(""));
const text = (content) => typeof content === "string" ? content
  : Array.isArray(content) ? content.map((part) => part.text ?? "[" + part.type + "]").join("\\n") : undefined;
for (const { seq, at, kind, payload } of thread.entries) {
  const article = document.createElement("article");
  const title = document.createElement("h2");
  title.textContent = seq + " \\u00b7 " + [kind, payload.role, payload.name].filter(Boolean).join(" \\u00b7 ") + " \\u00b7 " + new Date(at).toISOString();
  const body = document.createElement("pre");
  const calls = (payload.toolCalls ?? []).map((call) => call.name + " " + visible(JSON.stringify(call.arguments)));
  body.textContent = [text(payload.content) ?? JSON.stringify(payload, null, 2), ...calls].filter(Boolean).join("\\n");
  article.append(title, body);
  document.querySelector("main").append(article);
}
</script>
</html>
`;
