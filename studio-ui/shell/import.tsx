import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { dismissProblem, importFiles, importing, importProblems, MESSAGE_FORMATS } from "../state/import.ts";
import { runAction } from "../state/studio.ts";

/** Clears the messages about earlier files when the user chooses new ones. */
function clearProblems(): void {
  importProblems.value = [];
}

const KINDS = ".json,.jsonl,.ndjson,application/json,application/jsonl";

export function ImportButton() {
  const input = useRef<HTMLInputElement>(null);
  if (!runAction.value) return null;
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        multiple
        accept={KINDS}
        aria-label="Files to import"
        onChange={({ currentTarget }) => {
          const files = [...(currentTarget.files ?? [])];
          currentTarget.value = ""; // Cleared, so that choosing the same file twice fires an event twice.
          clearProblems();
          void importFiles(files);
        }}
      />
      <button
        type="button"
        class="ghost"
        title="Import threads: a file, or drop it here"
        aria-label="Import threads"
        disabled={importing.value !== undefined}
        onClick={() => input.current?.click()}
      >
        <Icon name="import" />
      </button>
    </>
  );
}

/** Wraps the list of threads. Files dropped on it are imported. */
export function DropPlace({ children }: { readonly children: ComponentChildren }) {
  const depth = useSignal(0);
  const isOver = depth.value > 0;
  const takes = (event: DragEvent) =>
    runAction.peek() !== undefined && event.dataTransfer?.types.includes("Files") === true;
  return (
    <nav
      class={isOver ? "sidebar dropping" : "sidebar"}
      aria-label="Threads"
      onDragEnter={(event) => {
        if (takes(event)) depth.value += 1;
      }}
      onDragLeave={(event) => {
        if (takes(event)) depth.value = Math.max(0, depth.peek() - 1);
      }}
      onDragOver={(event) => {
        if (takes(event)) event.preventDefault();
      }}
      onDrop={(event) => {
        if (!takes(event)) return;
        event.preventDefault();
        depth.value = 0;
        clearProblems();
        void importFiles([...(event.dataTransfer?.files ?? [])]);
      }}
    >
      {children}
      {isOver && (
        <div class="drop-here" aria-hidden="true">
          <Icon name="import" size={22} />
          Drop to import
        </div>
      )}
    </nav>
  );
}

/** Shows the running import, and the files that could not be imported. */
export function Imports() {
  const now = importing.value;
  if (now === undefined && importProblems.value.length === 0) return null;
  return (
    <div class="imports">
      {now && (
        <p role="status" class="importing">
          <progress aria-label="Importing" /> <span>Importing {now}</span>
        </p>
      )}
      {importProblems.value.map(({ id, file, code, message }) => (
        <div key={id} class="import-problem" role="alert">
          <p>
            <b>{file.name}</b> {code === "unknown_message_format" ? "Which format is this list of messages?" : message}{" "}
            <code>{code}</code>
          </p>
          <button
            type="button"
            class="ghost"
            aria-label={`Dismiss the message about ${file.name}`}
            onClick={() => dismissProblem(id)}
          >
            <Icon name="close" size={12} />
          </button>
          {code === "unknown_message_format" && (
            <div class="chips" role="group" aria-label={`Import ${file.name} as`}>
              {MESSAGE_FORMATS.map((format) => (
                <button
                  key={format}
                  type="button"
                  class="chip"
                  onClick={() => {
                    dismissProblem(id);
                    void importFiles([file], format);
                  }}
                >
                  {format}
                </button>
              ))}
            </div>
          )}
        </div>
      ))}
    </div>
  );
}
