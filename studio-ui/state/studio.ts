import { computed, effect, signal, untracked } from "@preact/signals";
import type { Info, ThreadQuery, ThreadRow } from "../data/contract.ts";
import { embeddedData, embeddedSource } from "../data/embedded.ts";
import { httpSource } from "../data/http.ts";
import type { LinkState, Source } from "../data/source.ts";
import { failed, LOADING, type Loaded } from "./loaded.ts";
import { OpenThread } from "./open-thread.ts";
import { go, route } from "./route.ts";
import { attempt } from "./toasts.ts";

const PAGE = 100;

export const source = signal<Source>(httpSource({ readOnly: true }));
export const info = signal<Loaded<Info>>(LOADING);
export const list = signal<Loaded<readonly ThreadRow[]>>(LOADING);
export const hasMore = signal(false);
export const search = signal("");
export const status = signal("");
export const agent = signal("");
/** Only what changed within so many days; 0 is any time. */
export const days = signal(0);
/** Whoever has answered in a thread that was listed. */
export const agents = signal<readonly string[]>([]);
export const link = signal<LinkState>("connecting");
export const thread = signal<OpenThread | undefined>(undefined);
/** What the inspector shows. */
export const inspected = signal<{ readonly seq: number } | undefined>(undefined);
export const act = computed(() => source.value.act);
let cursor: string | undefined;
let asked = 0;

export async function start(): Promise<void> {
  try {
    const data = embeddedData();
    source.value = data === undefined ? httpSource({ readOnly: true }) : embeddedSource(data);
    const known = await source.value.info();
    if (data === undefined && !known.readOnly) source.value = httpSource({ readOnly: false });
    info.value = { state: "there", value: known };
    if (data !== undefined && route.peek().threadId === undefined) go({ threadId: data.thread.id }, "replace");
  } catch (error) {
    info.value = failed(error);
    return;
  }
  source.value.listen(undefined, {
    onEvent: (event) => {
      if (event.event === "thread") show(event.thread);
      if (event.event === "deleted") forget(event.deleted.id);
    },
    onState: (state) => {
      if (state === "open" && link.peek() === "lost") void refreshList();
      link.value = state;
    },
  });
  effect(() => {
    // A change of the search or the filter asks anew.
    void search.value;
    void status.value;
    void agent.value;
    void days.value;
    untracked(() => void refreshList());
  });
  effect(() => {
    const id = route.value.threadId;
    untracked(() => {
      if (thread.peek()?.id === id) return;
      thread.peek()?.close();
      inspected.value = undefined;
      thread.value = id === undefined ? undefined : new OpenThread(source.peek(), id);
    });
  });
}

function queryOf(): ThreadQuery {
  const since = days.peek() === 0 ? {} : { since: Date.now() - days.peek() * 86_400_000 };
  return { search: search.peek(), status: status.peek(), agent: agent.peek(), limit: PAGE, ...since };
}

export const isFiltered = computed(
  () => search.value !== "" || status.value !== "" || agent.value !== "" || days.value !== 0,
);

function noteAgents(rows: readonly ThreadRow[]): void {
  const names = new Set([...agents.peek(), ...rows.flatMap((row) => row.agent ?? [])]);
  if (names.size > agents.peek().length) agents.value = [...names].sort();
}

export async function refreshList(): Promise<void> {
  const mine = ++asked;
  try {
    const page = await source.peek().threads(queryOf());
    if (mine !== asked) return; // a later question is on its way
    list.value = { state: "there", value: page.threads };
    noteAgents(page.threads);
    cursor = page.cursor;
    hasMore.value = cursor !== undefined;
  } catch (error) {
    if (mine === asked) list.value = failed(error);
  }
}

export async function moreThreads(): Promise<void> {
  const known = list.peek();
  if (cursor === undefined || known.state !== "there") return;
  const mine = asked;
  const page = await attempt(() => source.peek().threads({ ...queryOf(), ...(cursor !== undefined && { cursor }) }));
  if (page === undefined || mine !== asked) return;
  const ids = new Set(known.value.map(({ id }) => id));
  list.value = { state: "there", value: [...known.value, ...page.threads.filter(({ id }) => !ids.has(id))] };
  cursor = page.cursor;
  hasMore.value = cursor !== undefined;
}

/** A thread that has changed goes to the top; whether a new one fits the search only the server knows. */
function show(row: ThreadRow): void {
  const known = list.peek();
  if (known.state !== "there") return;
  const old = known.value.find(({ id }) => id === row.id);
  if (old === undefined && isFiltered.peek()) return;
  const others = known.value.filter(({ id }) => id !== row.id);
  list.value = { state: "there", value: [{ ...old, ...row }, ...others].sort((a, b) => b.updatedAt - a.updatedAt) };
}

export async function newThread(prompt?: string): Promise<void> {
  const actions = act.peek();
  if (actions === undefined) return;
  const row = await attempt(() => actions.create());
  if (row === undefined) return;
  show(row);
  go({ threadId: row.id });
  if (prompt !== undefined) await attempt(() => actions.ask(row.id, prompt));
}

export async function removeThread(id: string): Promise<void> {
  const done = await attempt(async () => {
    await act.peek()?.remove(id);
    return true;
  });
  if (!done) return;
  forget(id);
}

function forget(id: string): void {
  const known = list.peek();
  if (known.state === "there") list.value = { state: "there", value: known.value.filter((row) => row.id !== id) };
  if (route.peek().threadId === id) go({});
}

export async function fork(atSeq: number): Promise<void> {
  const from = thread.peek();
  const row = from && (await attempt(() => act.peek()?.fork(from.id, atSeq)));
  if (!row) return;
  show(row);
  go({ threadId: row.id });
}
