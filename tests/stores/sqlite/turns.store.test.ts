import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { sqliteStore } from "heddle/sqlite";
import { note } from "heddle/testing";
import { expect, onTestFinished, test, vi } from "vitest";
import { Turns } from "../../../src/stores/sqlite/turns.ts";
import { fastFile } from "../../support/temp-folder.ts";
import { plainConnect } from "./support/recording.ts";

/** The waits of processes on one file. All have found the lock taken, so they look for earlier waiters. */
function openQueue(count: number) {
  const path = fastFile();
  writeFileSync(path, "", { mode: 0o640 });
  vi.useFakeTimers({ toFake: ["Date"] });
  const processes = Array.from({ length: count }, () => {
    const turns = new Turns(() => path);
    turns.beforeTry(0);
    turns.afterTry(0);
    return turns;
  });
  onTestFinished(() => {
    for (const turns of processes) turns.close();
    vi.useRealTimers();
  });
  return { path, file: `${path}-turns`, processes };
}

/** How often each call looks before it tries, when none gets the lock. */
function looksUntilTry(turns: Turns, waitedMs: number): number {
  let looks = 1;
  while (turns.beforeTry(waitedMs) > 0) looks++;
  return looks;
}

test("the process that has waited longest tries first, and the next one after it has released the lock", () => {
  const [a, b, c] = openQueue(3).processes as [Turns, Turns, Turns];
  const pauses = () => [b.beforeTry(200), c.beforeTry(100), a.beforeTry(300)];
  pauses(); // all write their tickets
  const [ofB, ofC, ofA] = pauses();
  expect([ofA, Number(ofB) > 0, Number(ofC) > 0]).toEqual([0, true, true]);
  a.begin(300);
  expect(b.beforeTry(200), "the ticket of a holder says that the lock is taken").toBeGreaterThan(0);
  a.end();
  expect(b.beforeTry(200)).toBe(0);
  b.begin(200);
  b.end();
  expect(c.beforeTry(100)).toBe(0);
});

test("a waiter that was killed or stopped delays the others once, and keeps its place if it continues", () => {
  const [stopped, b, c] = openQueue(3).processes as [Turns, Turns, Turns];
  stopped.beforeTry(1000);
  expect(looksUntilTry(b, 200), "it also tries out of turn").toBeGreaterThan(1);
  b.begin(200);
  b.end();
  expect(looksUntilTry(c, 100), "the first to overtake removes the ticket").toBe(1);
  expect(stopped.beforeTry(1000)).toBe(0);
  expect(c.beforeTry(100), "it still is the oldest").toBeGreaterThan(0);
});

test("however many waiters are stopped, another one tries soon", () => {
  const processes = openQueue(60).processes;
  const [last, ...stopped] = processes as [Turns, ...Turns[]];
  for (const [n, turns] of stopped.entries()) turns.beforeTry(1000 + n);
  expect(looksUntilTry(last, 1)).toBeLessThan(20);
});

test("processes that begin at the same place in the file have a ticket each", () => {
  const random = vi.spyOn(Math, "random").mockReturnValue(0);
  onTestFinished(() => random.mockRestore());
  const [a, b, c] = openQueue(3).processes as [Turns, Turns, Turns];
  a.beforeTry(300);
  b.beforeTry(200);
  expect(c.beforeTry(100)).toBeGreaterThan(b.beforeTry(200));
  expect(a.beforeTry(300)).toBe(0);
});

test("a ticket of a call that has failed is ignored", () => {
  const [killed, b] = openQueue(2).processes as [Turns, Turns];
  killed.beforeTry(100);
  vi.setSystemTime(Date.now() + 6000);
  expect(b.beforeTry(0)).toBe(0);
});

test("tickets of the future and other nonsense are ignored", () => {
  const { file, processes } = openQueue(1);
  writeFileSync(file, new Uint8Array(new Float64Array([Number.NaN, -1, Date.now() + 1e6, Infinity]).buffer));
  expect(processes[0]?.beforeTry(10)).toBe(0);
});

test("the file of turns has the permissions of the database", () => {
  const { file, processes } = openQueue(1);
  processes[0]?.beforeTry(10);
  expect(statSync(file).mode & 0o777).toBe(0o640);
});

test("when the file of turns cannot be used, calls pause as long as calls usually wait", () => {
  const { file, processes } = openQueue(1);
  const [turns] = processes as [Turns];
  mkdirSync(file);
  expect([turns.beforeTry(10), turns.first()]).toEqual([0, 0]);
  for (let call = 0; call < 20; call++) {
    expect(turns.beforeTry(100)).toBe(0);
    turns.afterTry(100);
    turns.begin(200);
    turns.end();
  }
  expect(turns.first()).toBeGreaterThan(70);
});

test("a store that never finds the file locked has no file of turns; one that waited leaves no ticket in it", async () => {
  const { store, other, file } = openBeside();
  await store.append("a", note());
  expect(() => statSync(file)).toThrow("ENOENT");
  other.exec("BEGIN IMMEDIATE");
  const append = store.append("a", note());
  await expect.poll(() => hasTicket(file)).toBe(true);
  other.exec("COMMIT");
  expect((await append).rev).toBe(2);
  expect(hasTicket(file)).toBe(false);
});

test("a call that is store_busy leaves no ticket", async () => {
  const { store, other, file } = openBeside();
  other.exec("BEGIN IMMEDIATE");
  const append = store.append("a", note()).catch((error: unknown) => error);
  await expect.poll(() => hasTicket(file)).toBe(true);
  const now = performance.now();
  const clock = vi.spyOn(performance, "now").mockImplementation(() => now + 6000);
  onTestFinished(() => clock.mockRestore());
  expect(await append).toMatchObject({ code: "store_busy" });
  expect(hasTicket(file)).toBe(false);
});

function openBeside() {
  const path = fastFile();
  const store = sqliteStore(path);
  const other = plainConnect()(path);
  onTestFinished(async () => {
    other.close();
    await store.close();
  });
  return { store, other, file: `${path}-turns` };
}

function hasTicket(file: string): boolean {
  return existsSync(file) && readFileSync(file).some((byte) => byte !== 0);
}
