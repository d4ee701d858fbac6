import { inspect } from "node:util";
import { StoreError } from "heddle";
import { openPostgresStore, postgresStore } from "heddle/postgres";
import { describe, expect, inject, test, vi } from "vitest";
import { freePort } from "../../support/postgres/free-port.ts";
import { startProxy } from "../../support/postgres/tcp-proxy.ts";
import { openStore, rawConnection, schema } from "./open.ts";

const secret = "correct-horse-battery";

describe("a wrong password", () => {
  const url = new URL(inject("postgresUrl"));
  url.username = "mallory";
  url.password = secret;

  test("is store_auth_failed, for both ways to open a store", async () => {
    await expect(openStore({}, url.href).load("t")).rejects.toMatchObject({ code: "store_auth_failed" });
    await expect(openPostgresStore(url.href, { schema })).rejects.toMatchObject({ code: "store_auth_failed" });
  });

  test("appears nowhere in the error, nor do the user and the address", async () => {
    const error: unknown = await openStore({}, url.href)
      .append("t", {})
      .catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(StoreError);
    const everything = inspect(error, { showHidden: true, depth: 10 });
    for (const leak of [secret, url.username, url.host]) {
      expect(withoutFrames(everything)).not.toContain(leak);
    }
  });
});

/** The lines of a stack name files of this repository, which may contain anything. */
function withoutFrames(text: string): string {
  return text.replace(/^\s+at .*$/gm, "");
}

test("a missing server is store_unreachable for every method, and can be retried", async () => {
  const store = openStore({}, `postgres://nobody:${secret}@127.0.0.1:${await freePort()}/nothing`);
  const unreachable = { code: "store_unreachable", retryable: true };
  await expect(store.append("t", {})).rejects.toMatchObject(unreachable);
  await expect(store.load("t")).rejects.toMatchObject(unreachable);
  await expect(store.list()).rejects.toMatchObject(unreachable);
  await expect(store.putCheckpoint("k", 1)).rejects.toMatchObject(unreachable);
  await expect(store.delete("t")).rejects.toMatchObject(unreachable);
  await store.close();
  await expect(store.load("t")).rejects.toMatchObject({ code: "store_closed" });
});

test("a connection that is lost with its first statement rejects the call, and nothing else", async () => {
  const proxy = await startProxy(inject("postgresUrl"), { lostAfterLogin: 3 });
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on("unhandledRejection", note);
  try {
    const store = openStore({}, proxy.url);
    await expect(store.append("t", {})).rejects.toMatchObject({ code: "store_unreachable", retryable: true });
    await vi.waitFor(async () => expect((await store.append("t", { id: "one" })).rev).toBe(1), 30_000);
    await store.close();
    expect(unhandled).toEqual([]);
  } finally {
    process.off("unhandledRejection", note);
    await proxy.stop();
  }
});

test("a missing database is store_unreachable, and is not retryable", async () => {
  const url = new URL(inject("postgresUrl"));
  url.pathname = "/no_such_database";
  await expect(openStore({}, url.href).load("t")).rejects.toMatchObject({
    code: "store_unreachable",
    retryable: false,
    message: expect.stringContaining("createdb"),
  });
});

test("invalid URLs and options are refused before anything connects", () => {
  const url = inject("postgresUrl");
  for (const bad of ["mysql://localhost/x", "localhost", ""])
    for (const call of [() => postgresStore(bad), () => postgresStore(url, { listenUrl: bad })])
      expect(call).toThrow(expect.objectContaining({ code: "store_url_invalid" }));
  expect(() => postgresStore(url, { tenant: "a/b" })).toThrow(expect.objectContaining({ code: "invalid_id" }));
  for (const bad of ["", "Upper", "pg_mine", 'a"b', "a".repeat(64)])
    expect(() => postgresStore(url, { schema: bad })).toThrow(expect.objectContaining({ code: "invalid_options" }));
  expect(() => postgresStore(url, { maxConnections: 2 })).toThrow(expect.objectContaining({ code: "invalid_options" }));
});

test("an unreadable URL is store_url_invalid and is not quoted", async () => {
  const error: unknown = await openStore({}, `postgres://me:${secret}@[::1/x`)
    .load("t")
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "store_url_invalid" });
  expect(inspect(error, { showHidden: true, depth: 10 })).not.toContain(secret);
});

test("an unexpected answer of the server is store_failed and shows no value of the caller", async () => {
  const store = openStore();
  await store.append("before", {});
  const sql = rawConnection();
  await sql`alter table entries add constraint no_poison check (kind <> 'poison')`;
  const error: unknown = await store
    .append("t", { kind: "poison", payload: { text: secret } })
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "store_failed", cause: { message: expect.stringContaining("23514") } });
  expect(inspect(error, { showHidden: true, depth: 10 })).not.toContain(secret);
  await sql`alter table entries drop constraint no_poison`;
});

test("a role that may only read is store_read_only, with the name of the table", async () => {
  await openStore().append("granted", {});
  const sql = rawConnection();
  const role = `reader_${process.pid}`;
  await sql.unsafe(`create role ${role} login password '${secret}'`);
  await sql.unsafe(`grant usage on schema ${schema} to ${role}`);
  await sql.unsafe(`grant select on all tables in schema ${schema} to ${role}`);
  const url = new URL(inject("postgresUrl"));
  [url.username, url.password] = [role, secret];
  const store = openStore({}, url.href);
  await expect(store.append("granted", {})).rejects.toMatchObject({
    code: "store_read_only",
    retryable: false,
    message: expect.stringMatching(/denied.* table \w+\. Grant/),
  });
  await store.close();
  await sql.unsafe(`drop owned by ${role}`);
  await sql.unsafe(`drop role ${role}`);
});

test("a role that is read-only is store_unreachable, names that, and can be read", async () => {
  const store = openStore();
  await store.append("read_only", {});
  const sql = rawConnection();
  await sql`create function refuse() returns trigger language plpgsql as
    $$ begin raise read_only_sql_transaction; end $$`;
  await sql`create trigger refuse before insert on entries execute function refuse()`;
  await expect(store.append("read_only", {})).rejects.toMatchObject({
    code: "store_unreachable",
    retryable: true,
    message: expect.stringContaining("read-only"),
  });
  expect((await store.load("read_only"))?.rev).toBe(1);
  await sql`drop function refuse cascade`;
  expect((await store.append("read_only", {})).rev).toBe(2);
});

test("a statement that runs into its timeout is store_busy, and the message names the timeout", async () => {
  await openStore().append("slow", {});
  const sql = rawConnection();
  const store = openStore({}, `${inject("postgresUrl")}?statement_timeout=200`);
  await store.load("slow");
  await sql.begin(async (blocking) => {
    await blocking`lock table threads in access exclusive mode`;
    await expect(store.append("slow", {})).rejects.toMatchObject({
      code: "store_busy",
      retryable: true,
      message: expect.stringContaining("statement_timeout"),
    });
  });
  expect((await store.append("slow", {})).rev).toBe(2);
});

test("the error of a pooler that loses prepared statements names the cure", async () => {
  const store = openStore();
  await store.append("prepared", {});
  const sql = rawConnection();
  await sql`create function lose() returns trigger language plpgsql as
    $$ begin raise exception using errcode = '26000'; end $$`;
  await sql`create trigger lose before insert on entries execute function lose()`;
  await expect(store.append("prepared", {})).rejects.toMatchObject({
    code: "store_failed",
    message: expect.stringContaining("?prepare=false"),
  });
  await sql`drop function lose cascade`;
});

test("a full disk is StoreFullError; reads work, and appends work again when there is space", async () => {
  const store = openStore();
  await store.append("full", {});
  const sql = rawConnection();
  await sql`create function fill() returns trigger language plpgsql as $$ begin raise disk_full; end $$`;
  await sql`create trigger fill before insert on entries execute function fill()`;
  await expect(store.append("full", {})).rejects.toMatchObject({ name: "StoreFullError", code: "store_full" });
  expect((await store.load("full"))?.rev).toBe(1);
  await sql`drop function fill cascade`;
  expect((await store.append("full", {})).rev).toBe(2);
});

test("the URL of a hosted database works unchanged", async () => {
  const store = openStore({}, `${inject("postgresUrl")}?channel_binding=require&sslmode=disable`);
  expect((await store.append("hosted", {})).rev).toBe(1);
});
