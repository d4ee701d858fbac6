/**
 * Claims a thread as soon as its standard input says so, and tells the outcome. Told again, it appends under its epoch,
 * whatever has become of it. Arguments: a store's URL, the tenant, the thread, the holder and the time to hold.
 */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { HeddleError } from "../../../src/thread/errors.ts";
import { openAt } from "../../support/open-at.ts";

const [url = "", tenant = "", threadId = "", holder = "", ttlMs = ""] = process.argv.slice(2);
const store = await openAt(url, { tenant });
let epoch = 0;
tell({ ready: true });
for await (const command of createInterface({ input: process.stdin })) {
  switch (command) {
    case "claim":
      await attempt(async () => {
        const claim = await store.claim(threadId, { holder, ttlMs: Number(ttlMs) });
        epoch = claim.epoch;
        return claim;
      });
      break;
    case "append":
      await attempt(() => store.append(threadId, { payload: { holder } }, { epoch }));
      break;
    case "end":
      process.exit();
  }
}

async function attempt(work: () => Promise<{ epoch?: number; rev?: number }>): Promise<void> {
  try {
    const { epoch, rev } = await work();
    tell({ epoch, rev });
  } catch (error) {
    if (!HeddleError.isInstance(error)) throw error;
    tell({ code: error.code });
  }
}

function tell(what: object): void {
  writeSync(1, `${JSON.stringify(what)}\n`);
}
