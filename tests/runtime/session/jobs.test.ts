import { expect, test } from "vitest";
import { Jobs } from "../../../src/runtime/session/jobs.ts";

const note = (done: string[], what: string) => async () => void done.push(what);

test("work is done piece by piece, in its order, what is next before what waits", async () => {
  const jobs = new Jobs();
  const done: string[] = [];
  const first = jobs.add(async () => {
    void jobs.addNext(note(done, "next"));
    done.push("first");
  });
  await Promise.all([first, jobs.add(note(done, "second"))]);
  expect(done).toEqual(["first", "next", "second"]);
});

test("work that fails fails alone", async () => {
  const jobs = new Jobs();
  const bad = jobs.add(() => Promise.reject(new Error("bad")));
  const good = jobs.add(async () => 1);
  await expect(bad).rejects.toThrow("bad");
  expect(await good).toBe(1);
});

test("halted, it refuses what waits and what comes, until it is restarted", async () => {
  const jobs = new Jobs();
  const done: string[] = [];
  const halting = jobs.add(async () => jobs.halt(new Error("halt")));
  const waiting = jobs.add(note(done, "waiting"));
  await halting;
  await expect(waiting).rejects.toThrow("halt");
  await expect(jobs.add(note(done, "late"))).rejects.toThrow("halt");
  await expect(jobs.restart(() => Promise.reject(new Error("not yet")))).rejects.toThrow("not yet");
  await expect(jobs.add(note(done, "still"))).rejects.toThrow("halt");
  await jobs.restart(note(done, "restart"));
  await jobs.add(note(done, "again"));
  expect(done).toEqual(["restart", "again"]);
});

test("closed, it refuses everything, and the end of what is being done is waited for", async () => {
  const jobs = new Jobs();
  const done: string[] = [];
  const work = jobs.add(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    done.push("work");
  });
  const waiting = jobs.add(note(done, "waiting"));
  const refused = expect(waiting).rejects.toThrow("over");
  await jobs.close(new Error("over"));
  expect(done).toEqual(["work"]);
  await work;
  await refused;
  await expect(jobs.add(note(done, "late"))).rejects.toThrow("over");
  await expect(jobs.restart(note(done, "late"))).rejects.toThrow("over");
  expect(jobs.isClosed).toBe(true);
});
