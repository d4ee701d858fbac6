import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { removeThread } from "../state/studio.ts";
import { attempt, showToast } from "../state/toasts.ts";
import { panels } from "./panels.ts";

const FORMATS = [
  { format: "html", title: "one page (HTML)" },
  { format: "json", title: "JSON" },
  { format: "jsonl", title: "JSON lines" },
] as const;

/** A menu of actions that apply to the whole thread. */
export function ThreadMenu({ thread }: { readonly thread: OpenThread }) {
  const box = useRef<HTMLDetailsElement>(null);
  const { source, id } = thread;
  const { act } = source;
  useEffect(() => {
    const close = (event: Event) => {
      if (box.current && !(event.target instanceof Node && box.current.contains(event.target)))
        box.current.open = false;
    };
    addEventListener("pointerdown", close);
    return () => removeEventListener("pointerdown", close);
  }, []);
  if (source.kind === "file") return null;

  function run(doIt: () => Promise<unknown> | undefined, done: string): void {
    if (box.current) box.current.open = false;
    void attempt(async () => {
      await doIt();
      return true;
    }).then((ok) => ok && showToast(done));
  }

  function close(event: KeyboardEvent): void {
    if (event.key !== "Escape" || !box.current?.open) return;
    event.stopPropagation();
    box.current.open = false;
    box.current.querySelector("summary")?.focus();
  }

  return (
    <details class="menu" ref={box} onKeyDown={close}>
      <summary class="ghost" aria-label="More" title="More">
        <Icon name="more" />
      </summary>
      <div class="menu-items">
        {act && (
          <>
            <button type="button" onClick={() => run(() => act.summarize(id), "Summarized.")}>
              Summarize older turns
            </button>
            <button
              type="button"
              onClick={() => run(() => act.reset(id), "The context was reset. The thread keeps its entries.")}
            >
              Reset the context
            </button>
            <button
              type="button"
              onClick={() => {
                if (box.current) box.current.open = false;
                panels.context.value = true;
              }}
            >
              Replace or switch context…
            </button>
            <hr />
          </>
        )}
        {FORMATS.map(({ format, title }) => (
          <button key={format} type="button" onClick={() => run(() => source.download(id, format), "Exported.")}>
            Export as {title}
          </button>
        ))}
        {act && (
          <>
            <hr />
            <button
              type="button"
              class="danger"
              onClick={() => {
                if (box.current) box.current.open = false;
                if (confirm("Delete this thread? This cannot be undone. Its forks stay.")) void removeThread(id);
              }}
            >
              Delete the thread
            </button>
          </>
        )}
      </div>
    </details>
  );
}
