import { existsSync, readFileSync } from "node:fs";
import { project, type ThreadStore } from "heddle";
import { validateMessages } from "heddle/providers";
import { expect } from "vitest";
import { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import { type Child, startChild } from "../../support/child.ts";
import { openAt } from "../../support/open-at.ts";
import type { JobOfAgent } from "./agent-process.ts";
import { killableAgent, type Recover } from "./killable-agent.ts";

/** A line that an agent's process has written. */
interface Told {
  readonly requestId?: string;
  readonly event?: string;
  readonly seq?: number;
  readonly asked?: string;
  readonly ended?: string;
  readonly code?: string;
  readonly stopped?: number;
  readonly done?: boolean;
}

export function agentProcess(job: JobOfAgent): Child {
  return startChild(new URL("./agent-process.ts", import.meta.url), JSON.stringify(job));
}

export function told({ lines }: Child): readonly Told[] {
  return lines.filter((line) => line.endsWith("}")).map((line) => JSON.parse(line) as Told);
}

/** Resolves with the first line that says so; throws when the process ends before. */
export async function untilTold(child: Child, is: (told: Told) => boolean, from = 0): Promise<Told> {
  for (let count = from; ; count++) {
    await child.wrote(count + 1);
    const lines = told(child);
    const found = lines.slice(from).find(is);
    if (found !== undefined) return found;
    if (lines.length <= count) throw new Error(`the process ended before it said so:\n${child.lines.join("\n")}`);
  }
}

interface Killed {
  readonly job: JobOfAgent;
  readonly recover: Recover;
  /** What all processes before have told. */
  readonly before: readonly Told[];
}

/** Takes the thread up in this process, and looks whether anything is lost, twice there or out of order. */
export async function takeUp({ job, recover, before }: Killed): Promise<void> {
  const { url, tenant, threadId, file, holder } = job;
  const store = await openAt(url, { tenant });
  try {
    const agent = killableAgent(file, recover);
    const server = await AgentServer.start({ agent, store, threadId, holder, leaseTtlMs: 5_000, claimWaitMs: 20_000 });
    const { request } = server;
    if (request !== undefined) {
      const numbers: number[] = [];
      for await (const { seq } of request.events()) numbers.push(seq);
      expect(numbers[0]).toBeGreaterThan(lastNumber(before, request.id));
      expect(numbers).toEqual(numbers.map((_, n) => (numbers[0] ?? 0) + n));
    }
    await server.stop();
    await expectSound(store, threadId, before);
    expectOnce(file);
  } finally {
    await store.close();
  }
}

/** The last number that was told of something that an entry tells of, too. */
function lastNumber(before: readonly Told[], id: string): number {
  const passing = ["llm_started", "llm_delta", "tool_started", "keepalive"];
  const seqs = before.flatMap(({ requestId, event = "", seq = 0 }) =>
    requestId === id && !passing.includes(event) ? [seq] : [],
  );
  return Math.max(0, ...seqs);
}

export async function expectSound(store: ThreadStore, threadId: string, before: readonly Told[]): Promise<void> {
  const thread = await store.load(threadId);
  const entries = thread?.toArray() ?? [];
  if (thread !== undefined) {
    expect(await store.verify(threadId)).toMatchObject({ ok: true });
    const { messages } = project({ thread, policy: { maxInputTokens: 10_000_000 } });
    for (const provider of ["openai-chat", "openai-responses", "anthropic", "gemini"] as const) {
      expect(validateMessages(messages, provider).filter(({ rule }) => rule !== "trailing_assistant")).toEqual([]);
    }
  }
  for (const { asked, ended } of before) {
    if (asked !== undefined)
      expect(
        entries.some(({ refs }) => refs.requestId === asked),
        `ask ${asked}`,
      ).toBe(true);
    if (ended !== undefined) expect(endsOf(entries, ended), `the end of ${ended}`).toBe(1);
  }
  for (const id of new Set(entries.flatMap(({ refs }) => refs.requestId ?? [])))
    expect(endsOf(entries, id), id).toBe(1);
}

function endsOf(
  entries: readonly { readonly refs: { readonly requestId?: string }; readonly payload: object }[],
  id: string,
): number {
  return entries.filter(({ refs, payload }) => refs.requestId === id && "end" in payload).length;
}

/** No call has left two lines. */
export function expectOnce(file: string): void {
  const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").filter(Boolean) : [];
  expect(lines).toEqual([...new Set(lines)]);
}
