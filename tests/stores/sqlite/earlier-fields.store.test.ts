import { expect, test } from "vitest";
import { migrate } from "../../../src/stores/sqlite/schema/migrate.ts";
import { V1 } from "../../../src/stores/sqlite/schema/v1.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { earlierMetadata, expectedFields } from "../support/earlier-metadata.ts";
import { plainConnect } from "./support/recording.ts";

test("the upgrade makes the fields of earlier threads as an append would", () => {
  const connection = plainConnect()(fastFile());
  connection.exec(`${V1}; PRAGMA user_version = 1`);
  const add = connection.prepare("INSERT INTO threads VALUES (?, 'default', ?, 0, '', 0, 0, ?, '', '{}', 'null')");
  for (const [n, metadata] of earlierMetadata.entries()) add.run(n + 1, `t${n}`, JSON.stringify(metadata));
  add.run(9999, "damaged", "{no JSON");
  migrate(connection);
  const found = connection.prepare("SELECT thread, name, value FROM thread_fields").all();
  expect(found.map((row) => JSON.stringify(row)).sort()).toEqual([...expectedFields(1)].sort());
});
