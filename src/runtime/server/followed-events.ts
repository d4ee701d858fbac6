import type { AgentEvent, EventDraft } from "../../agent/event.ts";
import type { Entry } from "../../thread/entry.ts";
import { type AgentRequest, EventLog } from "../request/request.ts";
import { draftsOf, isLogged, partKey, writtenKeys } from "../ui-messages/logged-events.ts";

/** Events without an entry, from the process that runs the request. */
export interface LiveBatch {
  /** The run of events that this batch belongs to. The next process that runs the request begins another one. */
  readonly from: string;
  /** The number of the batch, from 0. */
  readonly n: number;
  /** The revision of the thread when the batch was sent. */
  readonly rev: number;
  readonly events: readonly AgentEvent[];
}

/** The way to the process that runs the request. */
export interface LiveSource {
  /** Asks that process for events, now and then at intervals. */
  readonly ask: () => void;
  /** Does not ask again until the next `ask`. */
  readonly pause: () => void;
  readonly stop: () => void;
}

/** The streamed part of an answer that has no entry yet. */
interface Streamed {
  readonly deltas: readonly DeltaDraft[];
  /** Whether a part is missing. */
  readonly isBroken: boolean;
}

type DeltaDraft = Extract<EventDraft, { kind: "llm_delta" }>;

/**
 * A request that another process runs, as far as it is known here. Each entry gives its events, also when no other event arrives.
 * Between them come the events that the other process sends. Of an answer that was streamed, only the rest follows with its entry.
 */
export interface Followed {
  /** The entries of the request. */
  readonly entries: readonly Entry[];
  /** The revision up to which the thread was read. */
  readonly rev: number;
  /** Batches that came before the entries that they follow. */
  readonly early: readonly LiveBatch[];
  /** The batch that comes next. */
  readonly next: Pick<LiveBatch, "from" | "n"> | undefined;
  /** By the id of the model call. */
  readonly streamed: ReadonlyMap<string, Streamed>;
  /** The keys of the parts that tools wrote and that were sent. */
  readonly parts: readonly string[];
}

/** An event without its number, and without its id if it follows from an entry. */
export type FollowedEvent = AgentEvent | (EventDraft & Pick<AgentEvent, "at" | "iteration">);

type Step = readonly [Followed, readonly FollowedEvent[]];

const NOT_FOLLOWED: Followed = {
  entries: [],
  rev: 0,
  early: [],
  next: undefined,
  streamed: new Map(),
  parts: [],
};

/** The next entry of the request, and its events. The drafts of `first` come before those of the first entry. */
export function followEntry(followed: Followed, entry: Entry, first: readonly EventDraft[]): Step {
  const entries = [...followed.entries, entry];
  const { callId = "" } = entry.refs;
  const streamed = followed.streamed.get(callId);
  const keys = writtenKeys(entry).values();
  const drafts = draftsOf(entry, entries).filter(({ kind }) => {
    return kind !== "tool_data" || !followed.parts.includes(keys.next().value ?? "");
  });
  const isAnswered = drafts.some(({ kind }) => kind === "llm_completed");
  const left = streamed !== undefined && isAnswered ? restOf(drafts, streamed) : drafts;
  const { at, refs } = entry;
  const events = [...(entries.length === 1 ? first : []), ...left].map((draft) => {
    return { ...draft, at, iteration: refs.iteration ?? 0 };
  });
  const others = isAnswered ? new Map([...followed.streamed].filter(([id]) => id !== callId)) : followed.streamed;
  return [{ ...followed, entries, streamed: others }, events];
}

/** All entries of the thread before this revision were read. */
export function followUpTo(followed: Followed, rev: number): Step {
  const read: Step = [{ ...followed, rev, early: [] }, []];
  return followed.early.reduce(([before, events], batch): Step => {
    const [after, more] = followBatch(before, batch);
    return [after, [...events, ...more]];
  }, read);
}

/** Events of the process that runs the request. */
export function followBatch(followed: Followed, batch: LiveBatch): Step {
  const { from, n, rev } = batch;
  if (rev > followed.rev) return [{ ...followed, early: [...followed.early, batch] }, []];
  const isNext = followed.next?.from === from && followed.next.n === n;
  const broken = [...followed.streamed].map(([id, one]) => [id, { ...one, isBroken: true }] as const);
  const next = { ...followed, next: { from, n: n + 1 }, ...(!isNext && { streamed: new Map(broken) }) };
  return batch.events.reduce(
    ([before, events], event): Step => {
      const after = followEvent(before, event);
      return after === undefined ? [before, events] : [after, [...events, event]];
    },
    [next, []] as Step,
  );
}

/** Undefined for an event that continues nothing, or that the log has. */
function followEvent(followed: Followed, event: AgentEvent): Followed | undefined {
  const { kind, callId = "" } = event;
  const { entries, parts, streamed } = followed;
  if (isLogged(entries, event)) return undefined;
  const before = streamed.get(callId);
  const withStreamed = (one: Streamed): Followed => ({ ...followed, streamed: new Map([...streamed, [callId, one]]) });
  switch (kind) {
    case "tool_data": {
      const key = partKey(event, event.seq);
      return parts.includes(key) ? undefined : { ...followed, parts: [...parts, key] };
    }
    case "llm_started":
      return withStreamed(NOTHING_STREAMED);
    case "llm_retried":
      return before && withStreamed(NOTHING_STREAMED);
    case "llm_delta":
      return before?.isBroken === false ? withStreamed({ ...before, deltas: [...before.deltas, event] }) : undefined;
    default:
      return followed;
  }
}

const NOTHING_STREAMED: Streamed = { deltas: [], isBroken: false };

/** The events of an answer that do not repeat what was streamed. If that is not its beginning, the answer starts again. */
function restOf(answer: readonly EventDraft[], { deltas }: Streamed): readonly EventDraft[] {
  const wanted = joined(answer.filter(isDelta));
  const sent = joined(deltas.filter(({ data: { type } }) => type !== "tool_input"));
  const last = sent.at(-1)?.data;
  const isBeginning = sent.every(({ data: { type, text } }, index) => {
    const { data } = wanted[index] ?? {};
    const mayGrow = index === sent.length - 1 && isText(type);
    return data?.type === type && (mayGrow ? data.text.startsWith(text) : data.text === text);
  });
  if (!isBeginning) return answer;
  const open = wanted[sent.length - 1];
  const text = open?.data.text.slice(last?.text.length) ?? "";
  // The last block continues under the id that it was streamed with.
  const id = deltas.findLast(({ data: { type } }) => type === last?.type)?.data.id ?? "";
  const tail = open !== undefined && text !== "" ? [{ ...open, data: { ...open.data, id, text } }] : [];
  const others = answer.filter(
    (draft) => !isDelta(draft) && draft.kind !== "llm_started" && draft.kind !== "llm_completed",
  );
  const completed = answer.filter(({ kind }) => kind === "llm_completed");
  return [...others, ...tail, ...wanted.slice(sent.length), ...completed];
}

function isDelta(draft: EventDraft): draft is DeltaDraft {
  return draft.kind === "llm_delta";
}

function isText(type: DeltaDraft["data"]["type"]): boolean {
  return type === "text" || type === "thinking";
}

/** Neighbors of one type are one text. */
function joined(deltas: readonly DeltaDraft[]): readonly DeltaDraft[] {
  const whole: DeltaDraft[] = [];
  for (const delta of deltas) {
    const last = whole.at(-1);
    if (last?.data.type !== delta.data.type || !isText(delta.data.type)) whole.push(delta);
    else whole.splice(-1, 1, { ...last, data: { ...last.data, text: last.data.text + delta.data.text } });
  }
  return whole;
}

/** The events of a followed request, with their numbers. */
export class FollowedLog {
  readonly events = new EventLog(1);
  readonly #request: Pick<AgentRequest, "id" | "runId">;
  #followed: Followed = NOT_FOLLOWED;

  constructor(request: Pick<AgentRequest, "id" | "runId">) {
    this.#request = request;
  }

  get entries(): readonly Entry[] {
    return this.#followed.entries;
  }

  take(step: (followed: Followed) => Step): void {
    const [followed, events] = step(this.#followed);
    this.#followed = followed;
    for (const event of events) this.push(event);
  }

  push(event: FollowedEvent): void {
    const { id: requestId, runId } = this.#request;
    const seq = this.events.lastSeq + 1;
    this.events.push({ id: `${runId}.log.${seq}`, runId, requestId, ...event, seq });
  }
}
