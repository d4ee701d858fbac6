import { test } from "vitest";
import { tearLogs } from "./support/torn-wal.ts";

test("a torn write-ahead log gives a prefix of the history, every commit of it whole", async () => {
  await tearLogs({ tears: 60 });
});
