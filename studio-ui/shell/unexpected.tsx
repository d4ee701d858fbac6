import { signal } from "@preact/signals";
import { problemOf } from "../data/source.ts";
import { Icon } from "../parts/icon.tsx";

const unexpected = signal<string | undefined>(undefined);

/** Errors that nobody has caught: the page goes on, and whoever looks at it is told. */
export function listenToErrors(): void {
  addEventListener("unhandledrejection", ({ reason }) => (unexpected.value = problemOf(reason).message));
  addEventListener("error", ({ error, message }) => {
    // Resize observers that need another frame say so by an event without an error: nothing is wrong.
    if (error !== null && error !== undefined) unexpected.value = message;
  });
}

export function Unexpected() {
  const message = unexpected.value;
  if (message === undefined) return null;
  return (
    <div class="unexpected" role="alert">
      <p>
        <b>The page met an error of its own.</b> What you see may be old. <code>{message}</code>
      </p>
      <button type="button" onClick={() => location.reload()}>
        Reload the page
      </button>
      <button type="button" class="ghost" aria-label="Dismiss" onClick={() => (unexpected.value = undefined)}>
        <Icon name="close" size={14} />
      </button>
    </div>
  );
}
