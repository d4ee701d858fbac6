import { cmd } from "../../agent/cmd.ts";
import { restore } from "../../agent/react/restore.ts";
import { REQUEST_INTERRUPTED } from "../../agent/react/resume.ts";
import { loadAgent, withMore } from "../../runtime/session/load.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { Thread } from "../../thread/thread.ts";
import type { ThreadRow } from "../contract/thread.ts";
import { objectOf } from "../http/body.ts";
import { optionalText, requiredSeq } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { rowOfThread } from "./row.ts";

/** Entries read to see whether a request is open at the fork. */
const TAIL = 200;

/** POST /api/threads/{id}/fork: makes a thread with the same history up to `atSeq`, ready to be asked. */
export async function forkThread({ studio, request, param }: Call): Promise<Answer<ThreadRow>> {
  const id = param("id");
  const body = await objectOf(request);
  const atSeq = requiredSeq(body, "atSeq");
  const given = optionalText(body, "title")?.trim();
  const { title } = await rowOfThread(studio, id);
  const status = await statusAt(studio, id, atSeq);
  const metadata = { title: given || `${title} (fork)`, ...(status !== undefined && { status }) };
  const { id: newId } = await studio.store.fork(id, { atSeq, newId: studio.ports.ids("thread"), metadata });
  if (status === "open") await close(studio, newId);
  studio.live.changes.ring();
  return json(await rowOfThread(studio, newId), 201);
}

/** The status at the fork; that of the parent is the one at its end. Undefined if no agent has written the thread. */
async function statusAt(studio: Studio, id: string, atSeq: number): Promise<string | undefined> {
  let thread: Thread | undefined = await studio.store.load(id, { last: TAIL, upToSeq: atSeq });
  if (thread === undefined) throw threadNotFound(id);
  if (thread.metadata["status"] === undefined) return undefined;
  const settings = await studio.settings;
  for (;;) {
    try {
      const { run, last } = restore(settings, thread, studio.ports).state;
      return run === undefined ? (last?.end.status ?? "completed") : "open";
    } catch (error) {
      thread = await withMore(studio.store, thread, error);
    }
  }
}

/** Closes a request that is open at the fork, so that it does not run a second time in the fork. */
async function close({ settings, store, ports }: Studio, id: string): Promise<void> {
  const agent = await loadAgent(store, id, await settings, ports);
  const { thread } = cmd(agent, { type: "resume", failure: REQUEST_INTERRUPTED }).agent;
  const stored = agent.thread.rev;
  const entries = thread.slice(stored, thread.lastSeq).map(({ seq: _place, ...entry }) => entry);
  await store.append(id, entries, { create: false, expectedRev: stored, metadata: { status: "failed" } });
}
