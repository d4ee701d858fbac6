import { writeSync } from "node:fs";
import { openAt } from "../../support/open-at.ts";

/** Opens a database of an earlier version, and writes a line at each report of the upgrade, and when the database is open. */
const [url = ""] = process.argv.slice(2);
const store = await openAt(url, { onUpgrade: ({ done, steps }) => writeSync(1, `${done} of ${steps}\n`) });
writeSync(1, "open\n");
await store.close();
