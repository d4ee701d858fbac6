import { signal } from "@preact/signals";
import { Component, type ComponentChildren } from "preact";
import { problemOf } from "../data/source.ts";
import { Icon } from "../parts/icon.tsx";

const unexpected = signal<string | undefined>(undefined);

/** Shows uncaught errors to the user. The page continues to work after such an error. */
export function listenToErrors(): void {
  addEventListener("unhandledrejection", ({ reason }) => (unexpected.value = problemOf(reason).message));
  addEventListener("error", ({ error, message }) => {
    // A ResizeObserver emits a harmless error event without an error object. Such events are ignored.
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

interface Props {
  readonly children: ComponentChildren;
}
interface State {
  readonly thrown: { readonly error: unknown } | undefined;
}

/**
 * Catches an error while its children are drawn, and shows the error in their place. Opening another address draws the
 * children again.
 */
export class Boundary extends Component<Props, State> {
  static override getDerivedStateFromError(error: unknown): State {
    return { thrown: { error } };
  }

  readonly #again = () => this.setState({ thrown: undefined });

  override componentDidMount(): void {
    addEventListener("hashchange", this.#again);
  }

  override componentWillUnmount(): void {
    removeEventListener("hashchange", this.#again);
  }

  override render({ children }: Props) {
    const { thrown } = this.state;
    return thrown === undefined ? children : <Broken error={thrown.error} />;
  }
}

function Broken({ error }: { readonly error: unknown }) {
  return (
    <div class="state problem" role="alert">
      <p class="state-title">Unexpected error on this page</p>
      <p>Your threads are safe: the page failed to show something, and changed nothing.</p>
      <p>
        <code>{problemOf(error).message}</code>
      </p>
      <p class="ways">
        <button type="button" class="primary" onClick={() => location.reload()}>
          Reload the page
        </button>
        <a class="button" href="#/">
          All threads
        </a>
      </p>
    </div>
  );
}
