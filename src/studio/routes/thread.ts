import { cmd } from "../../agent/cmd.ts";
import type { AnyAgent } from "../../agent/definition/config.ts";
import { nextAgent, type WaitingCall } from "../../agent/react/agent.ts";
import { counterFor } from "../../agent/react/call-context.ts";
import { restore } from "../../agent/react/restore.ts";
import { REQUEST_INTERRUPTED } from "../../agent/react/resume.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { ContextPolicy } from "../../projection/policy/policy.ts";
import { createProjector } from "../../projection/projector.ts";
import { askedAgent } from "../../runtime/host/thread-agent.ts";
import { loadAgent } from "../../runtime/session/load.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { LoadOptions, ThreadInfo, ThreadStore } from "../../stores/port.ts";
import { loadMissing } from "../../stores/project-from-store.ts";
import type { ToolSpec } from "../../thread/message.ts";
import { Thread } from "../../thread/thread.ts";
import type { ThreadData } from "../../thread/thread-data.ts";
import type { DeleteResult, ThreadDetail, ThreadRow, ThreadView } from "../contract.ts";
import { lanesOf } from "../entry-filter.ts";
import {
  numberIn,
  objectOf,
  optionalList,
  optionalObject,
  optionalSeq,
  optionalText,
  requiredSeq,
} from "../http/request.ts";
import { type JsonResponse, json, StudioError } from "../http/response.ts";
import type { RouteCall } from "../http/router.ts";
import type { Studio } from "../studio.ts";

const LANES_TAIL = 64;

/** GET /api/threads/{id} */
export async function threadDetail({ studio, param }: RouteCall): Promise<JsonResponse<ThreadDetail>> {
  const id = param("id");
  const thread = await loadForLanes(studio.store, id, { last: LANES_TAIL, lanes: "all" });
  const isAnswered = thread.metadata["status"] !== undefined; // by an agent, whose name the log has
  const [row, request, forks, asked] = await Promise.all([
    rowOf(studio, thread),
    openRequest(studio, thread),
    studio.forks.of(id),
    isAnswered ? askedAgent(studio, id, thread) : undefined,
  ]);
  const agent = asked && { agent: asked.name };
  const lanes = lanesOf(thread.toArray({ partial: true }), thread.base);
  const branches = lanes.lanes.length > 1 ? await studio.branches.read(id, thread.rev) : undefined;
  return json<ThreadDetail>({
    ...row,
    ...agent,
    ...lanes,
    ...(request && { request }),
    forks,
    ...(branches && { branches }),
  });
}

/**
 * Loads the last entries with their lanes. Loads the whole thread if a malformed operation makes the stored lanes
 * unreliable.
 */
export async function loadForLanes(store: ThreadStore, threadId: string, options: LoadOptions): Promise<Thread> {
  const tail = await store.load(threadId, options);
  if (tail === undefined) throw threadNotFound(threadId);
  if (!tail.base?.malformed) return tail;
  const { last: _tail, ...whole } = options;
  const thread = await store.load(threadId, whole);
  if (thread === undefined) throw threadNotFound(threadId);
  return thread;
}

/** Finds the request that has not ended. Searches the log only if the stored status says that there is one. */
async function openRequest(studio: Studio, { id, metadata }: Thread): Promise<ThreadDetail["request"]> {
  if (metadata["status"] !== "running" && metadata["status"] !== "waiting") return undefined;
  const settings = await studio.settings;
  const loaded = await loadAgent(studio.store, id, settings, studio.ports);
  const { run } = loaded.state;
  if (run === undefined) return undefined;
  const agent = run.handedTo === undefined ? run.agent : nextAgent(loaded);
  const of = studio.agentNamed(agent) ?? studio.agent;
  const waiting = run.calls.flatMap(({ call, status, question, deadline }): readonly WaitingCall[] => {
    const { id: toolCallId, name, arguments: given } = call;
    if (status === "approval_requested") return [{ toolCallId, name, arguments: given, kind: "approval" }];
    if (status === "asleep")
      return [{ toolCallId, name, arguments: given, kind: "sleep", ...(deadline !== undefined && { deadline }) }];
    if (status === "asked" && question)
      return [{ toolCallId, name, arguments: given, kind: "answer", question: question.value }];
    // An approved call has the status `started`. If its tool runs outside, the call still waits for its result.
    const isOpen = status === "open" || status === "started";
    return isOpen && isForOutside(of, name) ? [{ toolCallId, name, arguments: given, kind: "answer" }] : [];
  });
  const state = studio.live.get(id)?.state ?? (waiting.length > 0 ? "waiting" : "running");
  const { requestId, iteration } = run;
  return { id: requestId, state, iteration, ...(agent !== undefined && { agent }), waiting };
}

/** Whether a tool has no `execute`. The result of its calls comes from outside the agent. */
function isForOutside({ tools }: AnyAgent, name: string): boolean {
  return Object.hasOwn(tools, name) && tools[name]?.execute === undefined;
}

function agentIn(studio: Studio, name: string | undefined): AnyAgent {
  const found = name === undefined ? studio.agent : studio.agentNamed(name);
  if (found !== undefined) return found;
  const known = studio.agents.map((agent) => agent.name).join(", ");
  const message = `This Studio has no agent ${JSON.stringify(name)}. Its agents are: ${known}.`;
  throw new StudioError({ code: "unknown_agent", status: 400, message });
}

/** POST /api/threads: creates an empty thread. */
export async function createThread({ studio, request }: RouteCall): Promise<JsonResponse<ThreadRow>> {
  const body = await objectOf(request);
  const title = optionalText(body, "title")?.trim();
  const { name: agent } = agentIn(studio, optionalText(body, "agent"));
  const { clock, ids } = studio.ports;
  const metadata = { agent, ...(title && { title }) };
  const thread = Thread.create({ clock, ids, metadata });
  await studio.store.save(thread);
  studio.live.changes.notify();
  return json(await rowOf(studio, thread), 201);
}

/** DELETE /api/threads/{id} */
export async function deleteThread({ studio, param }: RouteCall): Promise<JsonResponse<DeleteResult>> {
  const id = param("id");
  if (studio.live.get(id)?.state === "running") {
    const message = "A request is running in this thread. Cancel it first.";
    throw new StudioError({ code: "busy", status: 409, message, retryable: true });
  }
  if (!(await studio.store.delete(id))) throw threadNotFound(id);
  studio.live.noteDeleted(id);
  return json<DeleteResult>({ deleted: true });
}

/** How many entries before the fork are read first to find an open request. */
const FORK_TAIL = 200;

/** POST /api/threads/{id}/fork: makes a thread with the same history up to `atSeq`. It accepts requests at once. */
export async function forkThread({ studio, request, param }: RouteCall): Promise<JsonResponse<ThreadRow>> {
  const id = param("id");
  const body = await objectOf(request);
  const atSeq = requiredSeq(body, "atSeq");
  const given = optionalText(body, "title")?.trim();
  const { title } = await rowOfThread(studio, id);
  const status = await statusAt(studio, id, atSeq);
  const metadata = { title: given || `${title} (fork)`, ...(status !== undefined && { status }) };
  const { id: newId } = await studio.store.fork(id, { atSeq, newId: studio.ports.ids("thread"), metadata });
  if (status === "open") await close(studio, newId);
  studio.live.changes.notify();
  return json(await rowOfThread(studio, newId), 201);
}

/**
 * Derives the status at the fork from the log, because the parent's stored status is about its end. Undefined for a
 * thread that no agent has written.
 */
async function statusAt(studio: Studio, id: string, atSeq: number): Promise<string | undefined> {
  let thread: Thread | undefined = await studio.store.load(id, { last: FORK_TAIL, upToSeq: atSeq });
  if (thread === undefined) throw threadNotFound(id);
  if (thread.metadata["status"] === undefined) return undefined;
  const settings = await studio.settings;
  for (;;) {
    try {
      const { run, last } = restore(settings, thread, studio.ports).state;
      return run === undefined ? (last?.end.status ?? "completed") : "open";
    } catch (error) {
      thread = await loadMissing(studio.store, thread, error);
    }
  }
}

/** Ends a request that is open at the fork. Otherwise it would run again in the fork. */
async function close({ settings, store, ports }: Studio, id: string): Promise<void> {
  const agent = await loadAgent(store, id, await settings, ports);
  const { thread } = cmd(agent, { type: "resume", failure: REQUEST_INTERRUPTED }).agent;
  const stored = agent.thread.rev;
  const entries = thread.slice(stored, thread.lastSeq).map(({ seq: _place, ...entry }) => entry);
  await store.append(id, entries, { create: false, expectedRev: stored, metadata: { status: "failed" } });
}

/** The largest number of entries in one answer. A client that needs more joins several answers. */
const MAX_TAIL = 5000;
const DEFAULT_TAIL = 200;

/**
 * GET /api/threads/{id}/tail: the entries up to `atSeq`, in the format of `Thread.fromJSON`. It includes facts about
 * earlier entries that projection needs.
 */
export async function threadTail({ studio, query, param }: RouteCall): Promise<JsonResponse<ThreadData>> {
  const id = param("id");
  const last = Math.max(1, numberIn(query, "last", MAX_TAIL) ?? DEFAULT_TAIL);
  const thread = await studio.store.load(id, { last, upToSeq: numberIn(query, "atSeq"), lanes: "all" });
  if (thread === undefined) throw threadNotFound(id);
  return json(thread.toJSON());
}

type RowFacts = Pick<ThreadInfo, "id" | "rev" | "createdAt" | "updatedAt" | "metadata" | "firstWords">;

export async function rowOf(
  studio: Studio,
  info: RowFacts,
  live: boolean = studio.live.isLive(info.id),
): Promise<ThreadRow> {
  const { id, rev, createdAt, updatedAt, metadata } = info;
  const { status, agent, parentThreadId, forkSeq } = metadata;
  return {
    id,
    title: await studio.titles.of(info),
    ...(typeof status === "string" && { status }),
    live,
    rev,
    createdAt,
    updatedAt,
    ...(typeof agent === "string" && { agent }),
    ...(typeof parentThreadId === "string" && { parentThreadId }),
    ...(typeof forkSeq === "number" && { forkSeq }),
  };
}

/** Returns the list row of one thread. Reads only its last entry. */
export async function rowOfThread(studio: Studio, threadId: string): Promise<ThreadRow> {
  const live = studio.live.isLive(threadId); // read first, so that a row that is not live is never older than the end
  const thread = await studio.store.load(threadId, { last: 1 });
  if (thread === undefined) throw threadNotFound(threadId);
  return rowOf(studio, thread, live);
}

const VIEW_TAIL = 200;

/** POST /api/threads/{id}/view: the context at any entry with any policy. Changes nothing. */
export async function viewThread({ studio, request, param }: RouteCall): Promise<JsonResponse<ThreadView>> {
  const id = param("id");
  const body = await objectOf(request);
  const settings = await studio.settings;
  const given = optionalObject(body, "policy") as ContextPolicyInput | undefined; // ContextPolicy checks the fields
  const model = optionalText(body, "model") ?? settings.model;
  const maxOutputTokens = settings.call["maxOutputTokens"];
  const policy =
    given !== undefined
      ? ContextPolicy.create(given)
      : ContextPolicy.resolve({
          definition: settings.contextPolicy,
          model,
          ...(typeof maxOutputTokens === "number" && { maxOutputTokens }),
        });
  const atSeq = optionalSeq(body, "atSeq");
  let thread = await studio.store.load(id, { last: VIEW_TAIL, ...(atSeq !== undefined && { upToSeq: atSeq }) });
  if (thread === undefined) throw threadNotFound(id);
  const projector = createProjector({ keep: 1 });
  const input = {
    policy,
    system: optionalText(body, "system") ?? settings.systemPrompt,
    tools: (optionalList(body, "tools") as readonly ToolSpec[] | undefined) ?? settings.tools, // `project` checks the tools
    lane: optionalText(body, "lane"),
    model,
    readers: settings.readers,
    tokenCounter: counterFor(policy, { ...settings, model }, thread),
  };
  for (;;) {
    try {
      const projection = projector.project({ ...input, thread });
      return json<ThreadView>({ ...projection, explained: projector.explain({ ...input, thread }), policy });
    } catch (error) {
      thread = await loadMissing(studio.store, thread, error);
    }
  }
}
