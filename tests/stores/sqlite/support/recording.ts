import type { OpenConnection, SqliteConnection, SqliteStatement } from "heddle/sqlite";
import { nodeSqlite } from "../../../../src/stores/sqlite/connection.ts";

/** A connection port that tells what passes through it. */
export interface Recording {
  readonly connect: OpenConnection;
  /** The statements run so far, in order. */
  readonly ran: readonly string[];
  /** How many rows SQLite has handed out. Those of pragmas do not count: watchers poll one, more often on a busy machine. */
  rowsReturned(): number;
  /** Called before each statement is run; what it throws is what SQLite would have thrown. */
  before: (sql: string) => void;
  forget(): void;
}

/** node:sqlite, which the tests' Node is new enough for. */
export function plainConnect(): OpenConnection {
  const connect = nodeSqlite();
  if (connect === undefined) throw new Error("these tests need Node 24.15 or later");
  return connect;
}

export function recording(): Recording {
  const open = plainConnect();
  const ran: string[] = [];
  let rows = 0;
  const note = (sql: string) => {
    self.before(sql);
    ran.push(sql);
  };
  const count = (more: number) => {
    rows += more;
  };
  const self: Recording = {
    connect: (path) => recorded(open(path), note, count),
    ran,
    rowsReturned: () => rows,
    before: () => {},
    forget() {
      ran.length = 0;
      rows = 0;
    },
  };
  return self;
}

function recorded(
  inner: SqliteConnection,
  note: (sql: string) => void,
  count: (rows: number) => void,
): SqliteConnection {
  return {
    library: inner.library,
    exec(sql) {
      note(sql);
      inner.exec(sql);
    },
    prepare: (sql) => recordedStatement(inner.prepare(sql), () => note(sql), /^pragma/i.test(sql) ? () => {} : count),
    close: () => inner.close(),
  };
}

function recordedStatement(inner: SqliteStatement, note: () => void, count: (rows: number) => void): SqliteStatement {
  return {
    run(...values) {
      note();
      inner.run(...values);
    },
    all(...values) {
      note();
      const rows = inner.all(...values);
      count(rows.length);
      return rows;
    },
    get(...values) {
      note();
      const row = inner.get(...values);
      count(row === undefined ? 0 : 1);
      return row;
    },
  };
}
