import { expect, test } from "vitest";
import { FairQueue } from "../../../src/stores/postgres/fair-queue.ts";

interface Started {
  readonly name: string;
  readonly finish: () => void;
}

/** Tasks that run until the test finishes them, in the order in which they started. */
function startedTasks(queue: FairQueue) {
  const started: Started[] = [];
  const add = (tenant: string, name = tenant): Promise<string> =>
    queue.run(tenant, () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      started.push({ name, finish: () => resolve(name) });
      return { answer: promise, end: promise };
    });
  const names = () => started.map(({ name }) => name);
  return { started, add, names };
}

test("tenants that wait take turns", async () => {
  const { started, add, names } = startedTasks(new FairQueue({ width: 1, perTenant: 1 }));
  const done = [add("a", "a1"), add("a", "a2"), add("a", "a3"), add("b", "b1"), add("c", "c1")];
  for (let n = 0; n < 5; n++) {
    await expect.poll(() => started.length).toBe(n + 1);
    started[n]?.finish();
  }
  await Promise.all(done);
  expect(names()).toEqual(["a1", "a2", "b1", "c1", "a3"]);
});

test("a tenant that has its share leaves the rest to others", async () => {
  const { started, add, names } = startedTasks(new FairQueue({ width: 3, perTenant: 2 }));
  const done = [add("a", "a1"), add("a", "a2"), add("a", "a3"), add("b", "b1"), add("c", "c1")];
  expect(names()).toEqual(["a1", "a2", "b1"]);
  started[0]?.finish();
  await expect.poll(names).toEqual(["a1", "a2", "b1", "a3"]);
  started[2]?.finish();
  await expect.poll(names).toEqual(["a1", "a2", "b1", "a3", "c1"]);
  for (const { finish } of started) finish();
  expect(await Promise.all(done)).toEqual(["a1", "a2", "a3", "b1", "c1"]);
});

test("a task that fails frees its place", async () => {
  const queue = new FairQueue({ width: 1, perTenant: 1 });
  const failure = Promise.reject(new Error("no"));
  const failed = queue.run("a", () => ({ answer: failure, end: failure }));
  const success = Promise.resolve("yes");
  const next = queue.run("a", () => ({ answer: success, end: success }));
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe("yes");
});

test("a task keeps its place after its answer, until it has ended", async () => {
  const { started, add } = startedTasks(new FairQueue({ width: 1, perTenant: 1 }));
  const { promise: end, resolve } = Promise.withResolvers<void>();
  const queue = new FairQueue({ width: 2, perTenant: 1 });
  const late = Promise.reject(new Error("late"));
  await expect(queue.run("slow", () => ({ answer: late, end }))).rejects.toThrow("late");
  let isBegun = false;
  const next = queue.run("slow", () => {
    isBegun = true;
    return { answer: add("slow"), end: Promise.resolve() };
  });
  expect(await queue.run("quick", () => ({ answer: Promise.resolve("quick"), end: Promise.resolve() }))).toBe("quick");
  expect(isBegun).toBe(false);
  resolve();
  await expect.poll(() => started.length).toBe(1);
  started[0]?.finish();
  expect(await next).toBe("slow");
});
