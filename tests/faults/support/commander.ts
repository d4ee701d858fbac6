/**
 * Posts commands to one thread and handles those of any process: it writes an entry with the outcome and a command to
 * another thread, or withdraws. A line is written per acknowledged call, synchronously. It runs until it is killed.
 * Arguments: a store's URL, the tenant, the name of this process and the number of its first command.
 */
import { writeSync } from "node:fs";
import { HeddleError } from "../../../src/thread/errors.ts";
import { openAt } from "../../support/open-at.ts";

/** An acknowledged call. */
export interface Acknowledged {
  readonly type: "posted" | "done" | "withdrawn";
  readonly id: string;
}

const [url = "", tenant = "", name = "", first = "0"] = process.argv.slice(2);
const store = await openAt(url, { tenant });
for (let n = Number(first); ; n++) {
  const id = `${name}_${n}`;
  await store.post("asked", { id, type: "ask", by: name });
  acknowledge({ type: "posted", id });
  const [next] = await store.pending("asked");
  if (next !== undefined) await handle(next.id, n);
}

/** Another process may be faster. */
async function handle(id: string, n: number): Promise<void> {
  try {
    if (n % 5 === 0) {
      const { replayed } = await store.withdraw("asked", id);
      if (!replayed) acknowledge({ type: "withdrawn", id });
    } else {
      const entry = { id: `${id}/0`, payload: { by: name } };
      const posts = [{ threadId: "told", command: { id, type: "ended" } }];
      const { replayed } = await store.append("asked", entry, {
        consumes: [{ id, outcome: { status: "done", by: name } }],
        posts,
      });
      if (!replayed) acknowledge({ type: "done", id });
    }
  } catch (error) {
    const isLate = HeddleError.isInstance(error) && ["command_settled", "entry_id_reused"].includes(error.code);
    if (!isLate) throw error;
  }
}

function acknowledge(call: Acknowledged): void {
  writeSync(1, `${JSON.stringify(call)}\n`);
}
