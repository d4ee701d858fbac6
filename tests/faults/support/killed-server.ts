import { openAt } from "../../support/open-at.ts";
import { startPostgres } from "../../support/postgres/start-postgres.ts";
import { report } from "../../support/report.ts";
import { seeded } from "../../support/seeded.ts";
import { expectHistory, Writer } from "./writers.ts";

/** Kills the whole Postgres server, so many times, while writers go on; they try again until it is back. */
export async function killServer({
  kills,
  round = 0,
}: {
  kills: number;
  round?: number;
}): Promise<{ acknowledged: number; untold: number }> {
  const random = seeded(round);
  await using server = await disposableServer();
  const { url } = server;
  const common = { url, tenant: "default", threadId: "outlived", from: 0, to: 1_000_000_000, batchSize: 3 };
  const writers = ["a", "b", "c"].map((writer) => new Writer({ ...common, writer, persistent: true }));
  await (await openAt(url)).close(); // the tables are there before the first kill
  await Promise.all(writers.map((writer) => writer.start()));
  for (const writer of writers) writer.go();
  let told = 0;
  for (let killed = 0; killed < kills; killed++) {
    told += 2 + random.below(20);
    await Promise.all(writers.map((writer) => writer.progress(told)));
    await server.kill();
    await server.restart();
    told = Math.max(...writers.map((writer) => writer.told));
  }
  await Promise.all(writers.map((writer) => writer.progress(told + 1)));
  await Promise.all(writers.map((writer) => writer.kill()));
  await Promise.all(writers.map((writer) => writer.answerTheLast()));
  const store = await openAt(url);
  await expectHistory(store, writers);
  const { rev = 0 } = (await store.load("outlived", { last: 0 })) ?? {};
  await store.close();
  const acknowledged = writers.reduce((sum, writer) => sum + writer.acknowledged.length, 0);
  const untold = writers.reduce((sum, writer) => sum + writer.replayed, 0);
  report({ seed: random.seed, "server kills": kills, acknowledged, "committed unacknowledged": untold, entries: rev });
  return { acknowledged, untold };
}

async function disposableServer() {
  const server = await startPostgres({ own: true });
  return { ...server, [Symbol.asyncDispose]: () => server.stop() };
}
