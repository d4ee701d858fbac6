import { setTimeout as sleep } from "node:timers/promises";
import type { ThreadStore } from "heddle";
import postgres from "postgres";
// The sources, because the package has no option that switches notifications off.
import { postgresDatabase as openDatabase } from "../../src/postgres.ts";
import { Notifications } from "../../src/stores/postgres/notifications.ts";
import { atOnce, type Lap } from "../support/lap.ts";
import { latencyColumns, latencyRow } from "../support/latency.ts";
import { race } from "../support/race.ts";
import type { Table } from "../support/table.ts";
import type { Bench } from "./bench.ts";
import { messageOf, payloadOf } from "./message.ts";
import { postgresDatabase } from "./postgres-database.ts";

/** Each node listens, and sends its own notifications. */
const NODES = 4;
/** A tenant has one transaction at a time. */
const TENANTS_PER_NODE = 8;
const CLIENTS = NODES * TENANTS_PER_NODE;
/** Longer than the gap between two notifications of a node, so that those of a lap are sent when the next one begins. */
const QUIET_MS = 200;

/** The same appends of many clients to Postgres, with notifications and without. And bare inserts, with NOTIFY inside and without. */
export async function notifications({ sizes, budgets }: Bench): Promise<Table> {
  const server = await postgresDatabase();
  const nodes = Array.from({ length: NODES }, () => openDatabase(server.url, { maxConnections: 3 * TENANTS_PER_NODE }));
  const sql = postgres(server.url, { max: CLIENTS, onnotice: () => {} });
  const announce = Notifications.prototype.announce;
  try {
    await sql`create table bare (
      thread text not null, seq bigint not null, payload text not null, primary key (thread, seq))`;
    const stores = nodes.flatMap((node, n) =>
      Array.from({ length: TENANTS_PER_NODE }, (_, tenant) => node.tenant(`tenant_${n}_${tenant}`)),
    );
    const appends = Math.max(1, Math.round(sizes.appendsPerRound / 4));
    const append = (isOn: boolean) => async () => {
      await sleep(QUIET_MS);
      Notifications.prototype.announce = isOn ? announce : () => {};
      return appendAtOnce(stores, appends);
    };
    let seq = 0;
    const insert = async (thread: string, isNotifying: boolean): Promise<void> => {
      const [next, text] = [seq++, JSON.stringify(payloadOf(seq))];
      await (isNotifying
        ? sql`with notified as (select pg_notify('bare', ${thread}))
            insert into bare select ${thread}, ${next}, ${text} from notified`
        : sql`insert into bare values (${thread}, ${next}, ${text})`);
    };
    const inserts = (isNotifying: boolean) => () =>
      atOnce(CLIENTS, appends, (client) => insert(`thread_${client}`, isNotifying));
    const results = await race(
      { bareOff: inserts(false), bareOn: inserts(true), off: append(false), on: append(true) },
      { rounds: Math.max(3, sizes.rounds >> 1), warmup: 2 },
    );
    const rate = 1 / results.on.over(results.off);
    return {
      id: "notifications",
      title: `Postgres ${server.version}: appends of ${CLIENTS} clients at once, ${NODES} nodes, ${appends} appends each per round`,
      columns: latencyColumns("without"),
      rows: [
        latencyRow("baseline: bare inserts", results.bareOff, results.bareOff),
        latencyRow("bare inserts, NOTIFY inside", results.bareOn, results.bareOff),
        latencyRow("heddle/postgres, notifications off", results.off, results.off),
        latencyRow("heddle/postgres", results.on, results.off),
      ],
      checks: [
        budgets.atLeast("postgresNotifyingToSilent", rate, {
          what: `rate of ${CLIENTS} clients with notifications to without`,
          unit: "times",
        }),
      ],
    };
  } finally {
    Notifications.prototype.announce = announce;
    await sql.end({ timeout: 5 });
    for (const node of nodes) await node.close();
    await server.drop();
  }
}

let appended = 0;

function appendAtOnce(stores: readonly ThreadStore[], appends: number): Promise<Lap> {
  return atOnce(stores.length, appends, async (client) => stores[client]?.append("thread", messageOf(appended++)));
}
