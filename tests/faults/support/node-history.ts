import type { Entry, ThreadStore } from "heddle";
import { expect } from "vitest";
import type { Query } from "./leftovers.ts";
import { BASES, blobOf, entriesOf, MODEL, type NodeLine, type NodeStep, type StepResult, TOLD } from "./node-step.ts";

/** All lines of the nodes of a run, of each node in order. */
export interface NodeHistory {
  readonly lines: readonly NodeLine[];
  readonly run: string;
}

type Step<Type extends NodeStep["type"]> = Extract<NodeStep, { readonly type: Type }>;

interface Done<Type extends NodeStep["type"]> {
  readonly step: Step<Type>;
  readonly result: StepResult;
}

/** The store has what the nodes were told that it has, once, and nothing that no node has written. */
export async function expectTrueHistory(store: ThreadStore, query: Query, history: NodeHistory): Promise<void> {
  const steps = new Steps(history);
  const threads = new Map<string, readonly Entry[]>();
  const { threads: listed } = await store.list({ limit: 1000 });
  for (const { id } of listed) {
    const entries = (await store.load(id))?.toArray() ?? [];
    expect(await store.verify(id), id).toMatchObject({ ok: true, entries: entries.length });
    expect(new Set(entries.map((entry) => entry.id)).size, `${id}: no entry twice`).toBe(entries.length);
    threads.set(id, entries);
  }
  expectThreads(steps, threads);
  expectEntries(steps, threads);
  expectOwnRows(steps, threads, await ownRows(store, steps));
  await expectCommands(store, query, steps, threads);
  expectClaims(history, threads);
  await expectUsage(store, steps, threads);
  await expectBlobs(store, steps, threads);
}

/** The steps of a history. */
class Steps {
  readonly #lines: readonly NodeLine[];

  constructor({ lines }: NodeHistory) {
    this.#lines = lines;
  }

  began<Type extends NodeStep["type"]>(type: Type): readonly Step<Type>[] {
    return this.#lines.flatMap(
      (line) => (line.type === "began" && line.step.type === type ? [line.step as Step<Type>] : []), // it has this type
    );
  }

  done<Type extends NodeStep["type"]>(type: Type): readonly Done<Type>[] {
    return this.#lines.flatMap((line) =>
      line.type === "done" && line.step.type === type
        ? [{ step: line.step as Step<Type>, result: line.result }] // it has this type
        : [],
    );
  }

  answers(): readonly Extract<NodeLine, { type: "answered" }>[] {
    return this.#lines.filter((line) => line.type === "answered");
  }

  /** The thread and all threads that were forked from it or from these. */
  family(thread: string): readonly string[] {
    const forks = this.began("fork").filter(({ from }) => from === thread);
    return [thread, ...forks.flatMap(({ to }) => this.family(to))];
  }
}

type Threads = ReadonlyMap<string, readonly Entry[]>;

function expectThreads(steps: Steps, threads: Threads): void {
  for (const base of BASES) expect(threads.has(base), base).toBe(true);
  const deletions = steps.done("delete");
  const mayBeGone = new Set(
    deletions.flatMap(({ step }) => (step.forks === "keep" ? [step.thread] : steps.family(step.thread))),
  );
  const made = [
    ...steps.done("append").flatMap(({ step, result }) => (step.create && !result.code ? [step.thread] : [])),
    ...steps.done("fork").flatMap(({ step, result }) => (result.code === undefined ? [step.to] : [])),
  ];
  for (const id of made) expect(threads.has(id) || mayBeGone.has(id), `${id} was made`).toBe(true);
  const begun = new Set([
    ...BASES,
    ...steps.began("append").map(({ id }) => id),
    ...steps.began("fork").map(({ to }) => to),
  ]);
  for (const id of threads.keys()) expect(begun.has(id), `a node made ${id}`).toBe(true);
  for (const { step } of deletions) expect(threads.has(step.thread), `${step.thread} was deleted`).toBe(false);
  const deleted = deletions.flatMap(({ result }) => result.deleted ?? []);
  for (const id of deleted) expect(threads.has(id), `${id} was deleted`).toBe(false);
  expect(new Set(deleted).size, "no deletion was acknowledged twice").toBe(deleted.length);
}

function expectEntries(steps: Steps, threads: Threads): void {
  for (const { step, result } of steps.done("append")) {
    const entries = threads.get(step.thread);
    if (entries === undefined) continue;
    expect(result.code, `${step.id}: the thread is there`).toBeUndefined();
    const inputs = entriesOf(step.id);
    const stored = entries.slice(result.seq, Number(result.seq) + inputs.length);
    expect(
      stored.map(({ id, kind, payload }) => ({ id, kind, payload })),
      `${step.id}: as acknowledged`,
    ).toEqual(inputs.map(({ id, kind, payload }) => ({ id, kind, payload })));
  }
  for (const { step, result } of steps.done("fork")) {
    const entries = threads.get(step.to);
    if (entries === undefined || result.code !== undefined) continue;
    const shared = entries.slice(0, step.shared.length).map(({ id }) => id);
    expect(shared, `${step.to}: the rows of ${step.from}`).toEqual(step.shared);
  }
  const known = new Set(steps.began("append").flatMap(({ id }) => entriesOf(id).map((entry) => entry.id)));
  const commands = new Set(steps.began("post").map(({ id }) => `${id}/0`));
  for (const { id, payload } of [...threads.values()].flat()) {
    const isKnown = known.has(id) || commands.has(id) || BASES.some((base) => base === id) || "epoch" in payload;
    expect(isKnown, `a node wrote ${id}`).toBe(true);
  }
}

/** The feed up to now: the rows of each thread without those that a fork shares. */
async function ownRows(store: ThreadStore, steps: Steps): Promise<ReadonlyMap<string, readonly string[]>> {
  const { entries } = await store.append(BASES[0], { id: "end" });
  const rows = new Map<string, string[]>();
  const forked: string[] = [];
  const deleted: string[] = [];
  for await (const item of store.feed()) {
    if (item.type === "forked") forked.push(item.threadId);
    else if (item.type === "deleted") deleted.push(item.threadId);
    else if (item.entry.id === entries[0]?.id) break;
    else rows.set(item.threadId, [...(rows.get(item.threadId) ?? []), item.entry.id]);
  }
  expect(new Set(forked).size, "no fork is twice in the feed").toBe(forked.length);
  expect(new Set(deleted).size, "no deletion is twice in the feed").toBe(deleted.length);
  const acknowledged = steps.done("delete").flatMap(({ result }) => result.deleted ?? []);
  expect(deleted).toEqual(expect.arrayContaining(acknowledged));
  return rows;
}

function expectOwnRows(steps: Steps, threads: Threads, feed: ReadonlyMap<string, readonly string[]>): void {
  const shared = new Map(steps.began("fork").map((step) => [step.to, step.shared.length]));
  const own = [...threads].map(([id, entries]) => [id, entries.slice(shared.get(id) ?? 0).map((entry) => entry.id)]);
  expect([...feed].sort(), "the feed has each row once").toEqual(own.filter(([, ids]) => ids?.length).sort());
}

async function expectCommands(store: ThreadStore, query: Query, steps: Steps, threads: Threads): Promise<void> {
  const rows = await query("SELECT thread, id, outcome FROM commands");
  const outcomes = new Map(rows.map(([thread, id, outcome]) => [`${thread} ${id}`, outcome]));
  const begun = new Set(steps.began("post").map(({ thread, id }) => `${thread} ${id}`));
  for (const name of outcomes.keys())
    expect(begun.has(name) || name.startsWith(`${TOLD} `), `a node posted ${name}`).toBe(true);
  const settled = [
    ...steps.answers().map(({ thread, id, status, epoch }) => ({ name: `${thread} ${id}`, status, epoch })),
    ...steps
      .done("withdraw")
      .filter(({ result }) => result.replayed === false)
      .map(({ step: { thread, id } }) => ({ name: `${thread} ${id}`, status: "withdrawn" })),
  ];
  expect(new Set(settled.map(({ name }) => name)).size, "no command was settled twice").toBe(settled.length);
  for (const { name, ...outcome } of settled)
    if (outcomes.has(name)) expect(JSON.parse(String(outcomes.get(name))), name).toMatchObject(outcome);
  for (const { step, result } of steps.done("post")) {
    const { thread, id } = step;
    expect(result.code, id).toBeUndefined();
    const text = outcomes.get(`${thread} ${id}`);
    const entries = threads.get(thread);
    if (entries === undefined) continue;
    expect(text, `${id}: posted, and answered`).toBeTypeOf("string");
    const { status, ...by } = JSON.parse(String(text));
    const answer = entries.find((entry) => entry.id === `${id}/0`);
    expect(answer !== undefined, `${id}: the entry and the outcome ${status}`).toBe(status === "done");
    if (answer !== undefined) expect(answer.payload, id).toMatchObject(by);
    expect(outcomes.has(`${TOLD} ${id}`), `${id}: the command to the other thread`).toBe(status === "done");
  }
  const calls = (await store.waiting({ limit: 1000 })).calls.map(({ threadId, callId }) => [threadId, callId]);
  const shared = new Map(steps.began("fork").map((step) => [step.to, step.shared.length]));
  const waits = [...threads].flatMap(([id, entries]) => {
    const last = entries.slice(shared.get(id) ?? 0).findLast(({ payload }) => "waits" in payload);
    return last === undefined ? [] : [[id, String(last.payload["waits"])]];
  });
  expect(calls.sort(), "waiting calls").toEqual(waits.sort());
}

/** No thread had two holders at once, and no lease or claim was given twice. */
function expectClaims({ lines }: NodeHistory, threads: Threads): void {
  const claims = lines.flatMap((line) => (line.type === "claimed" ? [`${line.thread} ${line.epoch}`] : []));
  expect(new Set(claims).size, "no epoch was given twice").toBe(claims.length);
  const leases = lines.flatMap((line) => (line.type === "lease" ? [line.lease] : []));
  for (const [node, started] of Map.groupBy(leases, ({ node }) => node)) {
    const incarnations = started.map(({ incarnation }) => incarnation);
    expect(incarnations, node).toEqual([...new Set(incarnations)].sort((a, b) => a - b));
  }
  for (const [id, entries] of threads) {
    const held = entries
      .map(({ payload }) => payload)
      .filter(({ thread, epoch }) => thread === id && epoch !== undefined);
    const epochs = held.map(({ epoch }) => Number(epoch));
    expect(epochs, `${id}: no entry of an earlier holder comes after one of a later`).toEqual(
      epochs.toSorted((a, b) => a - b),
    );
    const holders = new Set(held.map(({ by, life, epoch }) => `${by} ${life} ${epoch}`));
    expect(holders.size, `${id}: an epoch has one holder`).toBe(new Set(epochs).size);
  }
}

/** Of each thread exactly; in total, with what is known of deleted threads. */
async function expectUsage(store: ThreadStore, steps: Steps, threads: Threads): Promise<void> {
  const shared = new Map(steps.began("fork").map((step) => [step.to, step.shared.length]));
  let known = 0;
  for (const [id, entries] of threads) {
    const calls = entries.slice(shared.get(id) ?? 0).filter(({ payload }) => "call" in payload);
    const tokens = calls.map(({ payload }) => Number(payload["call"]?.["usage" as never]["inputTokens"]));
    expect(await sumOf(store, id), `${id}: usage`).toEqual([calls.length, tokens.reduce((a, b) => a + b, 0)]);
    known += calls.length;
  }
  const ofDeleted = steps.began("append").filter(({ thread }) => !threads.has(thread));
  const idsOfDeleted = new Set(ofDeleted.map(({ id }) => id)); // a step that a kill has interrupted began twice
  const acknowledged = new Set(steps.done("append").flatMap(({ step, result }) => (result.code ? [] : [step.id])));
  const certain = idsOfDeleted.intersection(acknowledged).size;
  const [total = 0] = await sumOf(store);
  expect(total).toBeGreaterThanOrEqual(known + certain);
  expect(total).toBeLessThanOrEqual(known + idsOfDeleted.size);
}

async function sumOf(store: ThreadStore, threadId?: string): Promise<readonly number[]> {
  const models = (await store.usage({ threadId })).flatMap((day) => day.models.filter(({ model }) => model === MODEL));
  return [models.reduce((sum, { calls }) => sum + calls, 0), models.reduce((sum, one) => sum + one.inputTokens, 0)];
}

async function expectBlobs(store: ThreadStore, steps: Steps, threads: Threads): Promise<void> {
  for (const { step, result } of steps.done("blob"))
    if (step.thread === undefined || threads.has(step.thread))
      expect(await store.getBlob(String(result.hash)), step.id).toEqual(blobOf(step.id));
}
