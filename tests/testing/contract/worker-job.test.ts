import { memoryStore } from "heddle";
import { MemoryDatabase } from "heddle/store";
import { runWorkerJob, type WorkerJob } from "heddle/testing";
import { expect, test } from "vitest";

test.each(["append", "compete", "claim"] as const)("two workers that %s get all their batches in", async (task) => {
  const database = new MemoryDatabase();
  const job = (writer: string): WorkerJob => ({
    task,
    tenant: "acme",
    threadId: "thread_1",
    writer,
    batches: 5,
    batchSize: 2,
  });
  const open = ({ tenant }: { tenant?: string | undefined }) =>
    memoryStore({ database, ...(tenant !== undefined && { tenant }) });
  const results = await Promise.all([runWorkerJob(job("a"), open), runWorkerJob(job("b"), open)]);
  const starts = results.flatMap(({ acknowledged }) => acknowledged).sort((a, b) => a - b);
  expect(starts).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18]);
  const thread = await open({ tenant: "acme" }).load("thread_1");
  expect(thread?.toArray().filter(({ payload }) => payload["writer"] === "a").length).toBe(10);
});

test("a worker passes on what goes wrong", async () => {
  const job: WorkerJob = { task: "append", tenant: "acme", threadId: "a/b", writer: "a", batches: 1, batchSize: 1 };
  await expect(runWorkerJob(job, () => memoryStore())).rejects.toMatchObject({ code: "invalid_id" });
});
