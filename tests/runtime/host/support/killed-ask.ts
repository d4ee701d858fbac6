import { type AnyAgent, type HostOptions, memoryStore } from "heddle";
import { faultStore } from "heddle/testing";
import { clockwork } from "../../support/clockwork.ts";
import { type House, house } from "./hosts.ts";

/** An ask in a process that is killed at a write. `writes`: how many it began. */
export async function killedAsk(
  n: number,
  when: "before" | "after",
  agents: Partial<HostOptions<AnyAgent>>,
  { content, ...options }: { readonly content: string; readonly requestId: string; readonly agent?: string },
): Promise<House & { readonly writes: number }> {
  const clock = clockwork();
  const store = memoryStore({ clock: clock.ports.clock });
  const at = await house(store, clock);
  const faulty = faultStore(store, {
    plan: (write) => (write.n === n ? { type: "crash", when } : undefined),
    after: clock.ports.after,
  });
  const host = at.host({ ...agents, store: faulty });
  let isOver = false;
  const over = (): void => {
    isOver = true;
  };
  const left = (): void => undefined;
  void host
    .ask("thread_1", content, options)
    .then(({ result }) => result)
    .then(over, left);
  while (!isOver && !faulty.isCrashed) await at.pass(10);
  const { length: writes } = faulty.writes;
  faulty.crash();
  await at.end(host.stop({ graceMs: 0 }).catch(() => undefined));
  return { ...at, writes };
}
