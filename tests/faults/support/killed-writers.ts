import { setTimeout as sleep } from "node:timers/promises";
import { openAt } from "../../support/open-at.ts";
import { report } from "../../support/report.ts";
import { seeded } from "../../support/seeded.ts";
import { expectHistory, Writer } from "./writers.ts";

const ENDLESS = 1_000_000_000;

interface Killing {
  readonly url: string;
  readonly tenant: string;
  readonly kills: number;
  readonly round?: number;
}

/** Kills writers of one thread at random moments, so many times each, and looks what is there after each kill. */
export async function killWriters({ url, tenant, kills, round = 0 }: Killing) {
  const random = seeded(round);
  const common = { url, tenant, threadId: "killed", from: 0, to: ENDLESS, batchSize: 3 };
  const writers = ["a", "b"].map((writer) => new Writer({ ...common, writer }));
  for (let killed = 0; killed < kills; killed++) {
    await Promise.all(
      writers.map(async (writer) => {
        await writer.start();
        writer.go();
        await writer.progress(1 + random.below(25));
        await sleep(random.below(8)); // anywhere between two acknowledgements; nothing rests on how long it is
        await writer.kill();
      }),
    );
    const store = await openAt(url, { tenant });
    await expectHistory(store, writers);
    await store.close();
  }
  await Promise.all(writers.map((writer) => writer.answerTheLast()));
  const store = await openAt(url, { tenant });
  await expectHistory(store, writers);
  const { rev = 0 } = (await store.load("killed", { last: 0 })) ?? {};
  await store.close();
  const acknowledged = writers.reduce((sum, writer) => sum + writer.acknowledged.length, 0);
  const untold = writers.reduce((sum, writer) => sum + writer.replayed, 0);
  report({
    seed: random.seed,
    kills: kills * writers.length,
    acknowledged,
    "committed unacknowledged": untold,
    entries: rev,
  });
  return { acknowledged, untold };
}
