import type { SqlValue } from "heddle/sqlite";
import { plainConnect } from "./recording.ts";

/** What a query of ours says about a file, on a connection of its own. */
export function ask(path: string, sql: string): readonly (readonly SqlValue[])[] {
  const connection = plainConnect()(path);
  try {
    return connection.prepare(sql).all();
  } finally {
    connection.close();
  }
}

/** Statements run on a file behind the store's back. */
export function tamper(path: string, ...statements: readonly string[]): void {
  const connection = plainConnect()(path);
  try {
    for (const sql of statements) connection.exec(sql);
  } finally {
    connection.close();
  }
}
