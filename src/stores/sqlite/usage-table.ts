import type { CountedUsage, UsageQuery, UsageSum } from "../sums.ts";
import type { SqliteConnection, SqlValue } from "./connection.ts";

const COUNTS = [
  "count",
  "input_tokens",
  "output_tokens",
  "cache_read_tokens",
  "cache_write_tokens",
  "reasoning_tokens",
];
const SUM_COLUMNS = `owner, day, model, ${COUNTS.join(", ")}`;
const ADD = `ON CONFLICT DO UPDATE SET ${COUNTS.map((name) => `${name} = ${name} + excluded.${name}`).join(", ")}`;

/** Takes the key of the thread and `usageValues`. */
export const ADD_USAGE = `
  INSERT INTO usage (tenant, thread, ${SUM_COLUMNS})
  SELECT tenant, id, a.* FROM (SELECT ? AS of_key) JOIN threads ON key = of_key JOIN (SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?) AS a
  WHERE TRUE ${ADD}`;

export function usageValues({ owner, sum }: CountedUsage): SqlValue[] {
  const { day, model, count, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = sum;
  const counts = [count, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens];
  return [owner, day, model, ...counts];
}

export function readUsage(
  connection: SqliteConnection,
  tenant: string,
  { owner, threadId, from, to }: UsageQuery,
): readonly UsageSum[] {
  const equal = Object.entries({ tenant, owner, thread: threadId }).filter(([, value]) => value !== undefined);
  const where = equal.map(([name]) => `${name} = ? AND`).join(" ");
  const sums = COUNTS.map((name) => `sum(${name})`).join(", ");
  return connection
    .prepare(`SELECT day, model, ${sums} FROM usage WHERE ${where} day BETWEEN ? AND ? GROUP BY day, model`)
    .all(...equal.map(([, value]) => String(value)), from, to)
    .map(([day, model, ...counts]) => {
      const [count, inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens] = counts;
      const tokens = { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens };
      return { day, model, count, ...tokens } as UsageSum; // a STRICT table
    });
}

/** Keeps the sums without the thread. Must run inside a transaction. */
export function forgetThreadInUsage(connection: SqliteConnection, tenant: string, threadId: string): void {
  const ofThread = "FROM usage WHERE tenant = ? AND thread = ?";
  const place = [tenant, threadId];
  connection
    .prepare(`INSERT INTO usage (tenant, thread, ${SUM_COLUMNS}) SELECT tenant, '', ${SUM_COLUMNS} ${ofThread} ${ADD}`)
    .run(...place);
  connection.prepare(`DELETE ${ofThread}`).run(...place);
}
