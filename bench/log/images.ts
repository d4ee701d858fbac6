import { randomBytes } from "node:crypto";
import { statSync } from "node:fs";
import { openStore, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import type { Table } from "../support/table.ts";
import type { Bench } from "./bench.ts";
import { postgresDatabase } from "./postgres-database.ts";
import { bytesOfDatabase } from "./table-bytes.ts";

const IMAGE_BYTES = 1_000_000;
const MESSAGES = 5;

/** The stored bytes of one image in several messages, beside those of one message with it. */
export async function images({ scratch, budgets }: Bench): Promise<Table> {
  const base64 = randomBytes(IMAGE_BYTES).toString("base64"); // so that Postgres cannot compress it
  const sqlite = async (name: string, messages: number): Promise<number> => {
    const path = scratch.file(name);
    await appendImage(sqliteStore(path), base64, messages);
    return statSync(path).size;
  };
  const inSqlite = [await sqlite("image-one.db", 1), await sqlite("image-five.db", MESSAGES)] as const;
  const inPostgres = [await bytesInPostgres(base64, 1), await bytesInPostgres(base64, MESSAGES)] as const;
  const row = (name: string, [one, five]: readonly [number, number]) => ({
    name,
    values: { one, five, ratio: five / one },
  });
  const ratio = Math.max(inSqlite[1] / inSqlite[0], inPostgres[1] / inPostgres[0]);
  return {
    id: "images",
    title: `One image of ${IMAGE_BYTES / 1e6} MB in ${MESSAGES} messages: stored bytes`,
    columns: [
      { key: "one", label: "in one message", unit: "bytes" },
      { key: "five", label: `in ${MESSAGES}`, unit: "bytes" },
      { key: "ratio", label: "to one", unit: "times" },
    ],
    rows: [row("SQLite, the file", inSqlite), row("Postgres, tables and indexes", inPostgres)],
    checks: [
      budgets.atMost("imageInFiveToOne", ratio, {
        what: `bytes of an image in ${MESSAGES} messages to one`,
        unit: "times",
      }),
    ],
  };
}

async function appendImage(store: ThreadStore, base64: string, messages: number): Promise<void> {
  for (let n = 0; n < messages; n++) {
    const image = { type: "file", mediaType: "image/png", data: { base64 } };
    const content = [{ type: "text", text: `Question ${n} about the image` }, image];
    await store.append("thread", { kind: "message", payload: { role: "user", content } });
  }
  await store.close();
}

async function bytesInPostgres(base64: string, messages: number): Promise<number> {
  const server = await postgresDatabase();
  try {
    await appendImage(await openStore(server.url), base64, messages);
    const { tables, indexes } = await bytesOfDatabase(server.url);
    return tables + indexes;
  } finally {
    await server.drop();
  }
}
