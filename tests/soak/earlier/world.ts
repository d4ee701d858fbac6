import type { RuntimePorts } from "heddle";

/** Something that waits until the play lets it go on: a call of the model, a run of a tool or a summary. */
interface Gate {
  readonly name: string;
  readonly open: () => void;
}

interface Timer {
  readonly at: number;
  readonly run: () => void;
}

/** One process of the play. When it dies, its timers and gates are gone, and its store calls get no answer. */
export class StoryProcess {
  readonly ports: RuntimePorts;
  readonly timers = new Set<Timer>();
  readonly gates = new Map<string, Gate>();
  isAlive = true;

  constructor(world: World) {
    this.ports = {
      clock: () => world.now,
      monotonic: () => world.now,
      random: () => 0,
      ids: (prefix) => world.nextId(prefix),
      after: (ms, run) => {
        const timer = { at: world.now + ms, run };
        this.timers.add(timer);
        return () => void this.timers.delete(timer);
      },
    };
  }

  /** Resolves when the play opens the gate. Rejects when the signal aborts. */
  gate(name: string, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const gate = { name, open: resolve };
      this.gates.set(name, gate);
      signal?.addEventListener("abort", () => {
        if (this.gates.get(name) === gate) this.gates.delete(name);
        reject(signal.reason);
      });
    });
  }

  die(): void {
    this.isAlive = false;
    this.timers.clear();
    this.gates.clear();
  }
}

/** Time that passes only when nothing else can happen, and ids that a comparison can find in a log. */
export class World {
  now = 1_000_000;
  #ids = 0;

  nextId(prefix: string): string {
    return `${prefix}_q${++this.#ids}q`;
  }

  /** Lets everything run that needs no time. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  /** Time passes to the next timer. False when there is none. */
  fireNext({ timers }: StoryProcess): boolean {
    const next = [...timers].reduce<Timer | undefined>((first, timer) => {
      return first === undefined || timer.at < first.at ? timer : first;
    }, undefined);
    if (next === undefined) return false;
    timers.delete(next);
    this.now = Math.max(this.now, next.at);
    next.run();
    return true;
  }
}
