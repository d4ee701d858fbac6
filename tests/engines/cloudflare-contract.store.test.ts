import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type EngineSubject, engineContract } from "heddle/testing";
import { afterAll, describe, test } from "vitest";
import { startWorkerd } from "../support/workerd/start-workerd.ts";

const folder = mkdtempSync(join(tmpdir(), "heddle-objects-"));
afterAll(() => rmSync(folder, { recursive: true }));

const start: EngineSubject["start"] = async (advance) => {
  const answer = async (request: Request): Promise<Response> => {
    try {
      return Response.json(await advance(new URL(request.url).searchParams.get("thread") ?? ""));
    } catch (error) {
      return new Response(String(error), { status: 500 });
    }
  };
  const script = new URL("support/engine-worker.ts", import.meta.url);
  const workerd = await startWorkerd({ script, folder, test: answer });
  const wake = async (threadId: string, at: number): Promise<void> => {
    const response = await workerd.dispatchFetch(`http://test/?thread=${encodeURIComponent(threadId)}&at=${at}`);
    if (!response.ok) throw new Error(await response.text());
  };
  return { scheduler: { wake }, kill: () => workerd.dispose() };
};

describe("the alarm of a Durable Object keeps the contract of engines", () => {
  for (const { name, run } of engineContract({ start })) test(name, run);
});
