import type { JsonValue } from "heddle";
import { escapeHidden } from "heddle/ai-sdk";
import type { ComponentChildren } from "preact";
import { showToast } from "../state/toasts.ts";
import { Icon } from "./icon.tsx";
import { LongText } from "./long-content.tsx";

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)/g;
/** A longer text is shown without colors, which would be slow. */
const COLORED = 60_000;

/** JSON with a button to copy it. */
export function JsonView({ value, label }: { readonly value: JsonValue | object; readonly label: string }) {
  const text = escapeHidden(JSON.stringify(value, null, 2) ?? "");
  return (
    <div class="json">
      <button type="button" class="ghost copy" title="Copy" aria-label={`Copy ${label}`} onClick={() => copy(text)}>
        <Icon name="copy" size={14} />
      </button>
      <LongText text={text}>
        {(shown) => (
          <pre tabIndex={0} role="region" aria-label={label}>
            {shown.length > COLORED ? shown : coloured(shown)}
          </pre>
        )}
      </LongText>
    </div>
  );
}

function coloured(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let end = 0;
  for (const { 0: all, 1: quoted, 2: colon, 3: word, index } of text.matchAll(TOKEN)) {
    if (index > end) out.push(text.slice(end, index));
    const kind = colon !== undefined ? "key" : quoted !== undefined ? "string" : word !== undefined ? "word" : "number";
    out.push(<span class={`j-${kind}`}>{all}</span>);
    end = index + all.length;
  }
  out.push(text.slice(end));
  return out;
}

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast("Copied.");
  } catch {
    showToast("The browser did not allow the page to copy. Select the text and copy it yourself.");
  }
}
