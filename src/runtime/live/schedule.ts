import { isListed, listedCalls, nextAgent, nextDue, type ReactAgent, willOnlyWait } from "../../agent/react/agent.ts";
import type { Command } from "../../stores/command.ts";
import type { WaitingCallInput } from "../../stores/waiting-call.ts";
import type { Live, QueuedAsk } from "./live.ts";

/**
 * When another process has something to do on the thread, if this one dies. `at`: by the clock; absent: at once; "later": at
 * some time. The commands of `waitsFor` are known and have to wait. Null: only a command makes it due.
 */
export type NextTime = {
  readonly at?: number | "later";
  readonly waitsFor?: readonly { readonly id: string; readonly revision: number }[];
} | null;

/** When a thread must start by itself, and its lines in the list of all threads. */
interface Schedule {
  readonly next: NextTime;
  /** The calls that wait. While no request is open: the asks with a time. */
  readonly waiting: readonly WaitingCallInput[];
}

/** The parts of a schedule that an append changes. */
export type ScheduleChange = Partial<Schedule>;

type Rows = Pick<Live, "agent" | "asks" | "inbox">;

/** Whether the time of an ask has come. An ask without a time is always due. */
export function isDue({ at = 0 }: Pick<QueuedAsk, "at">, clock: number): boolean {
  return at <= clock;
}

/** The asks with a time that are rows. */
function timedAsks({
  asks,
  inbox,
}: Rows): readonly { readonly id: string; readonly at: number; readonly revision: number }[] {
  const known = new Set<string>();
  return asks.flatMap(({ requestId: id, at }) => {
    const revision = inbox.get(id);
    if (at === undefined || revision === undefined || known.has(id)) return [];
    known.add(id);
    return [{ id, at, revision }];
  });
}

/** From the log and the rows of the inbox, as a process sees them that has nothing else. */
function nextTime(rows: Rows): NextTime {
  const { agent, asks, inbox } = rows;
  if (agent.state.run === undefined) {
    const timed = timedAsks(rows);
    if (timed.length === 0) return null; // rows that wait make it due
    return {
      at: Math.min(...timed.map(({ at }) => at)),
      waitsFor: timed.map(({ id, revision }) => ({ id, revision })),
    };
  }
  if (!willOnlyWait(agent)) return {};
  const times = [nextDue(agent), ...asks.map(({ options }) => options.deadline)].filter((at) => at !== undefined);
  if (times.length === 0 && inbox.size === 0) return null;
  const at = times.length === 0 ? "later" : Math.min(...times);
  return { at, ...(inbox.size > 0 && { waitsFor: [...inbox].map(([id, revision]) => ({ id, revision })) }) };
}

function scheduleOf(rows: Rows): Schedule {
  const { agent } = rows;
  const isOpen = agent.state.run !== undefined;
  const waiting = isOpen ? listedCalls(agent, false) : timedAsks(rows).flatMap((ask) => listedAsk(agent, ask));
  return { next: nextTime(rows), waiting };
}

/** When a released thread must start by itself, also to refuse an ask whose deadline is over. */
export function dueTime(rows: Rows): number | undefined {
  const { agent, asks } = rows;
  const own = agent.state.run === undefined ? timedAsks(rows).map(({ at }) => at) : [nextDue(agent)];
  const times = [...own, ...asks.map(({ options }) => options.deadline)].filter((time) => time !== undefined);
  return times.length === 0 ? undefined : Math.min(...times);
}

/** Whether the inbox has other asks with a time, or other times, than the value. */
export function hasOtherTimes(live: Rows, rows: readonly Command[]): boolean {
  const now = rows.filter(({ type, body }) => type === "ask" && "at" in body);
  const known = timedAsks(live);
  const isKnown = (row: Command): boolean =>
    known.some(({ id, revision }) => id === row.id && revision === row.revision);
  return now.length !== known.length || !now.every(isKnown);
}

interface Written {
  readonly consumes?: readonly { readonly id: string }[];
  readonly posts?: readonly { readonly id: string }[];
}

/** The schedule after an append, for an effect: the parts that differ from what the store has. */
export function rescheduled(
  live: Rows,
  agent: ReactAgent,
  written: Written = {},
): { readonly schedule?: ScheduleChange } {
  const [before, { next, waiting }] = [scheduleOf(live), scheduleAfter(live, agent, written)];
  const isOfOther = nextAgent(live.agent) !== nextAgent(agent); // its agent is written with the time
  const isAnswered = agent.state.run === undefined && written.consumes?.length; // at rest, a row alone made the thread due
  const change: ScheduleChange = {
    ...((isOfOther || isAnswered || !isEqual(before.next, next)) && { next }),
    ...(!isEqual(before.waiting, waiting) && { waiting }),
  };
  return Object.keys(change).length === 0 ? {} : { schedule: change };
}

/** The whole schedule after an append. */
export function scheduleAfter(
  { asks, inbox }: Rows,
  agent: ReactAgent,
  { consumes = [], posts = [] }: Written = {},
): Schedule {
  const done = new Set(consumes.map(({ id }) => id));
  const left = asks.filter(({ requestId, row }) => row !== "waits" || !done.has(requestId));
  const rows = [...inbox].filter(([id]) => !done.has(id));
  const fresh = posts.map(({ id }): readonly [string, number] => [id, 0]);
  return scheduleOf({ agent, asks: left, inbox: new Map([...rows, ...fresh]) });
}

/**
 * The schedule with a row that is posted: of an ask with a time, or while a request only waits for people. A command that has to
 * wait with it does not make the thread due. Other rows do.
 */
export function scheduledRow(
  live: Rows,
  { id, isTimed = false }: { readonly id: string; readonly isTimed?: boolean },
): { readonly schedule?: ScheduleChange } {
  const { agent } = live;
  const waits = isTimed || (agent.state.run !== undefined && willOnlyWait(agent));
  if (!waits) return {};
  const { next, waiting } = scheduleAfter(live, agent, { posts: [{ id }] });
  return { schedule: { next, ...(isTimed && { waiting }) } };
}

/**
 * The change that a process makes that does not hold the thread. With a decided call the request does more than wait. The holder
 * then reads the entry, and expects that the thread is due.
 */
export function foreignChange(before: ReactAgent, after: ReactAgent): ScheduleChange {
  const waiting = listedCalls(after, undefined);
  return {
    ...(!isEqual(listedCalls(before, undefined), waiting) && { waiting }),
    ...(after.state.run !== undefined && !willOnlyWait(after) && { next: {} }),
  };
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function listedAsk(
  { settings }: ReactAgent,
  { id, at }: { readonly id: string; readonly at: number },
): Schedule["waiting"] {
  if (!isListed(id)) return [];
  return [{ callId: id, kind: "ask", deadline: at, body: { agent: settings.name, requestId: id } }];
}
