import { Component, type ComponentChildren } from "preact";
import { problemOf } from "../data/source.ts";

interface Props {
  readonly children: ComponentChildren;
}
interface State {
  readonly thrown: { readonly error: unknown } | undefined;
}

/** Shows an error in place of a part that cannot be drawn. The rest of the page works. Another address draws it again. */
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
