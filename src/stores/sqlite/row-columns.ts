import { leaveOutIds, putBackIds } from "../stored-payload.ts";
import type { StoredRow } from "../stored-records.ts";
import type { SqlValue } from "./connection.ts";
import type { ScriptValue } from "./worker-connection.ts";

type Columns = readonly SqlValue[];

/** The payload of an entry as it is stored, from its row or from the table of big payloads. */
export const PAYLOAD = "coalesce(e.payload, (SELECT b.payload FROM big_payloads b WHERE b.key = e.big))";

const RUN_ID = `instr(e.refs, '"runId":"')`;

/** The whole payload. As in `putBackIds`: refs that begin with a space have its last two fields. */
export const PAYLOAD_TEXT =
  "CASE WHEN substr(e.refs, 1, 1) <> ' ' THEN " +
  `${PAYLOAD} ELSE substr(e.payload, 1, length(e.payload) - 1) || ',' || ` +
  `substr(e.refs, 3, ${RUN_ID} + 6 + instr(substr(e.refs, ${RUN_ID} + 9), '"')) || '}' END`;

/** The hash of the row before. An empty `prev` stands for it, except in a thread's first row. */
const PREV = `
  CASE WHEN e.prev <> '' OR e.seq = 0 THEN e.prev
  ELSE coalesce((SELECT p.hash FROM entries p WHERE p.thread = e.thread AND p.seq = e.seq - 1), '') END`;

/** The columns of a row as it is stored, in the order in which `toRow` reads them. */
export const STORED_COLUMNS =
  `e.seq, e.id, e.at, e.v, e.kind, e.refs, ${PAYLOAD}, ` +
  "e.salt, e.digest, e.prev, e.hash, e.lane, e.measure, e.state, e.record, e.record_seq, e.check_sum, e.mark, e.track";

/** The same with the hash of the row before. It is looked up for each row, so pages of a thread are linked by `toPage`. */
export const ROW_COLUMNS = STORED_COLUMNS.replace("e.prev", PREV);

const [SEQ, PREV_HASH, HASH] = [0, 9, 10];

/** STRICT tables keep the type of each column unless the file is damaged, so the cast is safe. */
export function toRow(columns: Columns): StoredRow {
  const [seq, id, at, v, kind, refs, payload, salt, digest, prev, hash, ...derived] = columns;
  const [lane, measure, state, record, recordSeq, checkSum, mark, track] = derived;
  const texts = typeof refs === "string" && isTextOrNull(payload) ? putBackIds({ refs, payload }) : { refs, payload };
  const fields = { seq, id, at, v, kind, ...texts, salt, digest, prev, hash };
  return { ...fields, lane, measure, state, record, recordSeq, checkSum, mark, track } as StoredRow;
}

function isTextOrNull(value: SqlValue | undefined): value is string | null {
  return typeof value === "string" || value === null;
}

/** For a row of an edge: what comes before it, and the row's own hash. */
export const LINK_COLUMNS = `${PREV}, e.hash`;

/**
 * Rows from STORED_COLUMNS of one thread, in order. The hash before a row is in the row beside it; `linkOf` reads it for a
 * row at an edge. Undefined when that row is another one by now, because another process has removed the thread.
 */
export function toPage(
  found: readonly Columns[],
  reverse: boolean,
  linkOf: (seq: number) => Columns | undefined,
): readonly StoredRow[] | undefined {
  const rows: StoredRow[] = [];
  for (const [index, columns] of found.entries()) {
    const seq = Number(columns[SEQ]);
    if (columns[PREV_HASH] !== "" || seq === 0) {
      rows.push(toRow(columns));
      continue;
    }
    const beside = found[reverse ? index + 1 : index - 1];
    const [before, own] = beside?.[SEQ] === seq - 1 ? [beside[HASH], columns[HASH]] : (linkOf(seq) ?? []);
    if (before === undefined || own !== columns[HASH]) return undefined;
    rows.push(toRow(columns.with(PREV_HASH, before)));
  }
  return rows;
}

/** The values of a row, in the order of the INSERT. `big` is the key of a big payload. */
export function rowValues<Big extends ScriptValue>(row: StoredRow, big: Big, forkSeq: SqlValue): (SqlValue | Big)[] {
  const { refs, payload } = big === null ? leaveOutIds(row) : { refs: row.refs, payload: null };
  const { seq, id, at, v, kind, salt, digest, hash } = row;
  const prev = seq - 1 === forkSeq ? row.prev : "";
  const { lane, measure, state, record, recordSeq, checkSum, mark, track } = row;
  const stored = [seq, id, at, v, kind, refs, payload, big, salt, digest, prev, hash];
  stored.push(lane, measure, state, record, recordSeq, checkSum, mark, track);
  return stored;
}

/** The columns of an entry, in the order of `rowValues`. */
export const ENTRY_COLUMNS =
  "seq, id, at, v, kind, refs, payload, big, salt, digest, prev, hash, " +
  "lane, measure, state, record, record_seq, check_sum, mark, track";
