import { setImmediate as endOfTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { commitJobs, newJob } from "../../../src/stores/postgres/group-commit.ts";

test("a job whose caller has stopped waiting ends without a transaction", async () => {
  const stop = new AbortController();
  const nothing = { ids: [], lanes: [] };
  const { job, answer } = newJob("t", nothing, () => ({ result: "written" }), [], [undefined, stop.signal]);
  stop.abort(new Error("stopped"));
  const refuse = () => Promise.reject(new Error("a transaction began"));
  const outcome = answer.catch(({ message }: Error) => message);
  await commitJobs(refuse, [job]);
  expect(await Promise.race([outcome, endOfTurn("it still waits")])).toBe("stopped");
});
