import { signal } from "@preact/signals";
import { problemOf } from "../data/source.ts";
import { Icon } from "../parts/icon.tsx";

const unexpected = signal<string | undefined>(undefined);

/** Shows uncaught errors to the user. The page continues to work. */
export function listenToErrors(): void {
  addEventListener("unhandledrejection", ({ reason }) => (unexpected.value = problemOf(reason).message));
  addEventListener("error", ({ error, message }) => {
    // A resize observer that needs another frame emits an event without an error. It is harmless.
    if (error !== null && error !== undefined) unexpected.value = message;
  });
}

export function Unexpected() {
  const message = unexpected.value;
  if (message === undefined) return null;
  return (
    <div class="unexpected" role="alert">
      <p>
        <b>Unexpected error on this page.</b> What you see may be stale. <code>{message}</code>
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
