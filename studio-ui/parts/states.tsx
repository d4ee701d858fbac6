import type { ComponentChildren } from "preact";

export function Empty({ title, children }: { readonly title: string; readonly children?: ComponentChildren }) {
  return (
    <div class="state">
      <p class="state-title">{title}</p>
      {children}
    </div>
  );
}

export function Loading({ what }: { readonly what: string }) {
  return (
    <div class="state" role="status">
      <span class="visually-hidden">Loading {what}…</span>
      <div class="skeleton" />
      <div class="skeleton short" />
      <div class="skeleton" />
    </div>
  );
}

interface ProblemProps {
  readonly code: string;
  readonly message: string;
  readonly retry?: (() => void) | undefined;
  /** Buttons besides "retry". */
  readonly children?: ComponentChildren;
}

/** Shows an error message with buttons. */
export function Problem({ code, message, retry, children }: ProblemProps) {
  return (
    <div class="state problem" role="alert">
      <p class="state-title">{message}</p>
      <p>
        <code>{code}</code>
      </p>
      <p class="ways">
        {retry && (
          <button type="button" onClick={retry}>
            Try again
          </button>
        )}
        {children}
      </p>
    </div>
  );
}
