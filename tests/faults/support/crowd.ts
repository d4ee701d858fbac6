import { openAt } from "../../support/open-at.ts";
import { report } from "../../support/report.ts";
import { expectHistory, Writer } from "./writers.ts";

const PROCESSES = 8;

/** Eight processes write to one thread for a while; answers how many appends each got through. */
export async function crowd({ url, tenant, forMs }: { url: string; tenant: string; forMs: number }) {
  const common = { url, tenant, threadId: "crowded", from: 0, to: 1_000_000_000, batchSize: 2, forMs };
  const writers = Array.from({ length: PROCESSES }, (_, n) => new Writer({ ...common, writer: `w${n}` }));
  await (await openAt(url, { tenant })).close();
  await Promise.all(writers.map((writer) => writer.start()));
  for (const writer of writers) writer.go();
  await Promise.all(writers.map((writer) => writer.finish()));
  const store = await openAt(url, { tenant });
  await expectHistory(store, writers);
  const { rev = 0 } = (await store.load("crowded", { last: 0 })) ?? {};
  await store.close();
  const shares = writers.map(({ acknowledged }) => acknowledged.length).toSorted((a, b) => a - b);
  report({ "appends per process": shares, seconds: Math.round(forMs / 1000), entries: rev });
  return { shares, rev };
}
