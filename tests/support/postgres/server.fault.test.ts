import { existsSync } from "node:fs";
import postgres from "postgres";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OwnServer, startPostgres } from "./start-postgres.ts";

let server: OwnServer;
const opened: postgres.Sql[] = [];

beforeAll(async () => {
  server = await startPostgres({ own: true });
});

afterAll(async () => {
  await Promise.all(opened.map((sql) => sql.end({ timeout: 0 })));
  await server?.stop();
});

test("a committed row survives the killing of the server", async () => {
  const before = connect(server.url);
  await before`create table survivors (name text primary key)`;
  await before`insert into survivors values ('committed')`;
  const [flags] = await before<Settings[]>`
    select current_setting('fsync') as fsync, current_setting('synchronous_commit') as synchronous_commit`;
  expect(flags).toEqual({ fsync: "on", synchronous_commit: "on" });

  const unfinished = await before.reserve();
  await unfinished`begin`;
  await unfinished`insert into survivors values ('uncommitted')`;
  await server.kill();
  await expect(connect(server.url)`select 1`).rejects.toMatchObject({ code: "ECONNREFUSED" });

  await server.restart();
  const after = connect(server.url);
  expect(await after`select name from survivors`).toEqual([{ name: "committed" }]);
});

test("a clean stop that keeps its data can be followed by a restart", async () => {
  await connect(server.url)`create table kept (n int)`;
  await server.stop({ keepData: true });
  await expect(server.kill()).rejects.toThrow("not running");
  await server.restart();
  expect(await connect(server.url)`select n from kept`).toEqual([]);
});

test("a wrong password is refused", async () => {
  const url = new URL(server.url);
  url.password = "wrong";
  await expect(connect(url.href)`select 1`).rejects.toMatchObject({ code: "28P01" });
});

test("a stopped server leaves no data and cannot be restarted", async () => {
  const other = await startPostgres({ own: true });
  const sql = connect(other.url);
  const [folder] = await sql<{ path: string }[]>`select current_setting('data_directory') as path`;
  expect(folder && existsSync(folder.path)).toBe(true);
  await other.stop();
  expect(folder && existsSync(folder.path)).toBe(false);
  await expect(other.restart()).rejects.toThrow("keepData");
});

type Settings = { fsync: string; synchronous_commit: string };

function connect(url: string): postgres.Sql {
  const sql = postgres(url, { max: 2, connect_timeout: 5, onnotice: () => {} });
  opened.push(sql);
  return sql;
}
