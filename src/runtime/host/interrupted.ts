import type { ThreadStore } from "../../stores/port.ts";
import type { RuntimePorts } from "../ports.ts";
import { patiently } from "../session/patiently.ts";

const PAGE = 200;

/** The threads whose metadata says that a request is at work; every agent keeps it there. */
export async function interruptedThreads(store: ThreadStore, ports: RuntimePorts): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await patiently(ports, () => store.list({ status: "running", limit: PAGE, order: "id", cursor }));
    ids.push(...page.threads.map(({ id }) => id));
    cursor = page.cursor;
    if (cursor === undefined) return ids;
  }
}
