import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { Row, Table } from "../support/table.ts";
import { showSize } from "../support/units.ts";
import type { Bench } from "./bench.ts";
import { PAYLOAD_BYTES } from "./message.ts";

/** Bytes on disk for each entry. */
export async function bytes({ sizes, fixtures, budgets }: Bench): Promise<Table> {
  const { long } = sizes;
  const baseline = row(`baseline: bare table, ${showSize(long)} rows`, await fixtures.baseline(long), long);
  const heddle = row(`heddle/sqlite, ${showSize(long)} entries`, await fixtures.heddle(long), long);
  return {
    id: "bytes",
    title: `Bytes on disk, all in the file: ${showSize(long)} entries of ${PAYLOAD_BYTES} bytes`,
    columns: [
      { key: "file", label: "file", unit: "bytes" },
      { key: "entry", label: "an entry", unit: "bytes" },
      { key: "columns", label: "its columns", unit: "bytes" },
      { key: "toPayload", label: "to payload", unit: "times" },
      { key: "toColumns", label: "to payload + columns", unit: "times" },
    ],
    rows: [baseline, heddle],
    checks: [
      budgets.atMost("bytesToPayloadAndColumns", heddle.values["toColumns"], {
        what: "bytes on disk to payload and fixed columns",
        unit: "times",
      }),
    ],
    notes: [
      "Columns: the content of all columns of a row, payload included, without SQLite's headers, indexes and free space.",
    ],
  };
}

function row(name: string, path: string, entries: number): Row {
  if (existsSync(`${path}-wal`)) throw new Error(`${name}: the WAL was not written into the file.`);
  const file = statSync(path).size;
  const columns = columnBytes(path);
  const entry = file / entries;
  return { name, values: { file, entry, columns, toPayload: entry / PAYLOAD_BYTES, toColumns: entry / columns } };
}

/** Mean content of the rows of the table that holds the payloads, as small as SQLite can write it. */
function columnBytes(path: string): number {
  const database = new DatabaseSync(path, { readOnly: true });
  const names = database.prepare("SELECT name FROM pragma_table_info('entries')").all();
  const sizes = names.map(({ name }) => {
    const bytesOfInteger = [1, 2, 3, 4, 6]
      .map((size) => `WHEN "${name}" BETWEEN -${2 ** (8 * size - 1)} AND ${2 ** (8 * size - 1) - 1} THEN ${size}`)
      .join(" ");
    return `CASE typeof("${name}") WHEN 'null' THEN 0 WHEN 'integer' THEN CASE ${bytesOfInteger} ELSE 8 END ELSE octet_length("${name}") END`;
  });
  const mean = database.prepare(`SELECT avg(${sizes.join(" + ")}) AS mean FROM entries`).get();
  database.close();
  return Number(mean?.["mean"]);
}
