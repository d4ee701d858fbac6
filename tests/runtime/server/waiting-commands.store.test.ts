import { memoryStore, type SteerAnswer } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { Random } from "../../../src/testing/random.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { proveAll, type Stage, stage, told } from "../support/stage.ts";

/** A process with the same name as the one before takes the thread over at once. */
const NODE = { holder: "node" };
const hanging = { script: [{ hang: true }] };

describe.each([
  ["memory", (options: object) => memoryStore(options)],
  ["SQLite", (options: object) => sqliteStore(fastFile(), options)],
])("commands that wait on %s", (_name, open) => {
  async function taken(options: object = {}): Promise<Stage> {
    return stage({ store: await open(options) });
  }

  test("are delivered once by the process that takes the thread over, in order", async () => {
    const on = await taken();
    const first = await on.start(hanging, NODE);
    await on.end(first.ask("Go."));
    for (const words of ["One.", "Two."]) {
      expect((await on.end(first.steer(words, { id: `id_${words.length}_${words}` }))).accepted).toBe(true);
    }
    const second = await on.start({ script: ["Ok."] }, NODE);
    await on.pass(100);
    expect(second.request).toBeUndefined();
    expect(told(await on.log())).toEqual(["ask Go.", "note", "steer One.", "steer Two.", "says Ok. end:completed"]);
    expect(await on.store.pending(on.threadId)).toEqual([]);
    await proveAll(on.store, on.threadId);
  });

  test("are known under their id in another process, also when their outcome was purged", async () => {
    const on = await taken({ keepOutcomesMs: 0 });
    const first = await on.start({ script: [{ text: "One.", delayMs: 50 }, "Two."] }, NODE);
    const asked = await on.end(first.ask("Go."));
    const { receipt } = await on.end(first.steer("Be brief.", { id: "brief" }));
    await on.end(asked.result);
    const delivered = await on.end(receipt);
    await on.pass(10);
    await on.store.post("thread_other", { id: "later", type: "note" }); // purges
    const second = await on.start({ script: [{ text: "Three.", delayMs: 50 }] }, NODE);
    const next = await on.end(second.ask("More."));
    const again = await on.end(second.steer("Be brief.", { id: "brief" }));
    expect(await on.end(again.receipt)).toEqual(delivered);
    await on.end(next.result);
    expect(told(await on.log()).filter((line) => line.startsWith("steer"))).toHaveLength(1);
  });

  test("that were accepted are delivered or dropped, each once, wherever they came", async () => {
    const seen = new Set<string>();
    for (let seed = 1; seed <= 5; seed++) {
      const on = await taken();
      const random = new Random(seed);
      const answers: SteerAnswer[] = [];
      const script = Array.from({ length: 40 }, (_, index) => ({ text: `Answer ${index}.`, delayMs: 30 }));
      let server = await on.start({ script, maxIterations: 4 }, NODE);
      for (let act = 0; act < 20; act++) {
        const kind = random.below(6);
        if (kind === 0) server = await on.start({ script, maxIterations: 4 }, NODE);
        else if (kind === 1) await on.end(server.ask("Go.").catch(() => undefined));
        else if (kind === 2) await on.end(server.cancel().catch(() => false));
        else {
          const id = `words_${random.below(8)}`;
          const answer = random.oneIn(2) ? server.steer("Hm.", { id }) : server.followUp("Hm.", { id });
          const words = await on.end(answer.catch(() => undefined)); // the id may wait with other words
          if (words?.accepted) answers.push(words);
        }
        await on.pass(random.below(40));
      }
      const last = server.request;
      if (last !== undefined) await on.end(last.result.catch(() => undefined));
      expect(await on.store.pending(on.threadId), `seed ${seed}`).toEqual([]);
      const log = await on.log();
      for (const { id } of answers) {
        const entries = log.filter(({ refs }) => refs.signalId === id);
        const { status } = await on.store.outcome(on.threadId, id);
        seen.add(status);
        expect([status, entries.length], `seed ${seed}, ${id}`).toEqual([status, status === "delivered" ? 1 : 0]);
      }
    }
    expect([...seen].sort()).toEqual(["delivered", "dropped"]);
  });
});
