import postgres from "postgres";
import { expect, inject, test } from "vitest";
import { poolFactory } from "../../../src/stores/postgres/connection-pool.ts";
import { checkPostgresOptions } from "../../../src/stores/postgres/options.ts";
import { getRecord, putRecord } from "../../../src/stores/postgres/postgres-store.ts";
import { tablesIn } from "../../../src/stores/postgres/tables.ts";
import { Writer } from "../../../src/stores/postgres/writer.ts";
import { openStore, rawConnection, schema } from "./open.ts";

test("the rest of a transaction whose connection was replaced writes nothing", async () => {
  await openStore().append("t", {}); // makes the tables
  const admin = rawConnection();
  const { settings, tenant } = checkPostgresOptions(inject("postgresUrl"), { schema });
  const connect = poolFactory(postgres, settings.url);
  const lost = Promise.withResolvers<() => void>();
  const writer = new Writer(
    (onClose) => connect({ max: 1, onClose: () => lost.resolve(onClose) }), // the writer is told later
    settings,
    { announce: () => {} },
  );

  const put = putRecord("checkpoint", "k", "never");
  await writer.transaction(tenant, {
    ...put,
    async read({ sql }) {
      const [own] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
      await admin`select pg_terminate_backend(${own?.pid ?? 0})`;
      await lost.promise;
    },
  });
  const onClose = await lost.promise;
  onClose();

  const { sql, end } = connect({ max: 1 });
  const scope = { sql, tables: tablesIn(schema, sql), tenant };
  expect(await getRecord(scope, "checkpoint", "k")).toBeUndefined();
  await writer.transaction(tenant, putRecord("checkpoint", "k", "now")); // the writer goes on
  expect(await getRecord(scope, "checkpoint", "k")).toBe("now");
  await Promise.all([writer.end(), end()]);
});
