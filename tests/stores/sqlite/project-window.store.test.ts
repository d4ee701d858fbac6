import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EntryInput, projectFromStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { assistant, toolCall, toolResult, user } from "heddle/testing";
import { beforeAll, describe, expect, test } from "vitest";
import { recording } from "./support/recording.ts";

const LENGTH = 200_000;
const BATCH = 20_000;
const folder = mkdtempSync(join(tmpdir(), "heddle-long-"));
const path = join(folder, "long.db");

/** A turn of four entries. */
function turn(n: number): readonly EntryInput[] {
  const words = `${n} `.repeat(20);
  return [
    user(`ask ${words}`),
    toolCall(`c${n}`, "look", { n }),
    toolResult(`c${n}`, "look", words),
    assistant(`answer ${words}`),
  ];
}

describe("a thread of 200,000 entries", () => {
  beforeAll(async () => {
    const store = sqliteStore(path, { mode: "relaxed" });
    for (let n = 0; n < LENGTH; n += BATCH) {
      await store.append("long", Array.from({ length: BATCH / 4 }, (_, i) => turn(n / 4 + i)).flat());
    }
    await store.close();
    return () => rmSync(folder, { recursive: true });
  });

  test("is projected from a window of at most twice the rows shown", async () => {
    const sql = recording();
    const store = sqliteStore(path, { connect: sql.connect });
    sql.forget();
    const { meta } = await projectFromStore(store, "long");
    expect(meta).toMatchObject({ entriesTotal: LENGTH, truncated: true });
    expect(sql.rowsReturned()).toBeLessThanOrEqual(2 * meta.entriesIncluded);
    expect(sql.rowsReturned(), "the recording sees rows at all").toBeGreaterThanOrEqual(meta.entriesIncluded);
    await store.close();
  });
});
