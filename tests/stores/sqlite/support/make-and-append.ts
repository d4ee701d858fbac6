/** Opens the store named by the argument, appends one entry and prints the revision. */
import { sqliteStore } from "../../../../src/stores/sqlite/sqlite-store.ts";

const [path = ""] = process.argv.slice(2);
const store = sqliteStore(path);
const { rev } = await store.append("thread_1", { kind: "note" });
await store.close();
console.log(rev);
