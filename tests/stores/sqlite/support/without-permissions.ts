/**
 * Opens a store as a user without rights, appends to it, and says how each step ended; argument: the file. Permissions
 * do not bind root, so everything is imported first and then the process gives its rights up for good.
 */
import { HeddleError } from "../../../../src/index.ts";
import { sqliteStore } from "../../../../src/stores/sqlite/sqlite-store.ts";

const NOBODY = 65534;
if (process.getuid?.() === 0) {
  process.setgroups?.([NOBODY]);
  process.setgid?.(NOBODY);
  process.setuid?.(NOBODY);
}

const [path = ""] = process.argv.slice(2);
const open = await attempt(() => sqliteStore(path));
const store = open.value;
const append = store && (await attempt(() => store.append("thread_1", { kind: "note" })));
const load = store && (await attempt(() => store.load("thread_1")));
await store?.close();
console.log(JSON.stringify({ open: open.code, append: append?.code, load: load?.code, rev: load?.value?.rev }));

async function attempt<Value>(work: () => Value | Promise<Value>): Promise<{ code: string; value?: Value }> {
  try {
    return { code: "ok", value: await work() };
  } catch (error) {
    if (HeddleError.isInstance(error)) return { code: error.code };
    throw error;
  }
}
