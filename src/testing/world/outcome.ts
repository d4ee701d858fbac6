import { HeddleError } from "../../thread/errors.ts";
import type { SimulatedProcess } from "./process.ts";
import { isOfStore } from "./requests.ts";
import type { SimulatedWorld } from "./world.ts";

/** With one of these codes the server no longer holds the thread: it was stopped, or another process holds the thread. */
const GONE: ReadonlySet<string> = new Set(["server_stopped", "thread_held"]);

/** The pending calls of the simulated user, with their expected refusals. */
export class Asked {
  readonly #world: SimulatedWorld;
  readonly #open = new Map<Promise<void>, { readonly process: SimulatedProcess; readonly what: string }>();

  constructor(world: SimulatedWorld) {
    this.#world = world;
  }

  /** The pending calls in live processes. */
  get waiting(): readonly string[] {
    return [...this.#open.values()].filter(({ process }) => process.isAlive).map(({ what }) => what);
  }

  /** Starts a call and waits for its end. A refusal must be one of the expected ones. */
  begin<Result>(
    process: SimulatedProcess,
    what: string,
    call: () => Promise<Result>,
    refusals: readonly string[],
    done: (result: Result) => void = () => undefined,
  ): void {
    const { journal } = this.#world;
    journal.note(`${process.name}: ${what}`);
    const followed = Promise.resolve()
      .then(call)
      .then(
        (result) => {
          if (process.isAlive) done(result);
        },
        (error: unknown) => {
          if (!process.isAlive) return; // a dead process gets no answer
          const code = HeddleError.isInstance(error) ? error.code : undefined;
          journal.note(`${process.name}: ${what} was refused: ${code ?? String(error)}`);
          const isExpected = code !== undefined && (GONE.has(code) || isOfStore(code) || refusals.includes(code));
          if (!isExpected)
            journal.broken("what is refused is refused for an expected reason", `${what}: ${String(error)}`, error);
          if (code !== undefined && GONE.has(code) && this.#world.current === process) this.#world.current = undefined;
        },
      )
      .finally(() => this.#open.delete(followed));
    this.#open.set(followed, { process, what });
  }
}
