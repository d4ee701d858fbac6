import { computed, effect, signal, untracked } from "@preact/signals";
import { enter } from "../data/access.ts";
import type { Info, ThreadQuery, ThreadRow, ThreadRowPage } from "../data/contract.ts";
import { embeddedData, embeddedSource } from "../data/embedded.ts";
import { httpSource } from "../data/http.ts";
import type { LinkState, Source } from "../data/source.ts";
import { failed, LOADING, type LoadState } from "./load-state.ts";
import { OpenThread } from "./open-thread.ts";
import { go, route } from "./route.ts";
import { attempt } from "./toasts.ts";

const PAGE = 100;

export const source = signal<Source>(httpSource({ readOnly: true }));
export const info = signal<LoadState<Info>>(LOADING);
export const list = signal<LoadState<readonly ThreadRow[]>>(LOADING);
export const hasMore = signal(false);
export const search = signal("");
export const status = signal("");
export const agent = signal("");
/** Lists only threads that changed within this many days. 0 means any time. */
export const days = signal(0);
/** The agents of all threads listed so far, for the filter. */
export const agents = signal<readonly string[]>([]);
/** Identifies the current search and filters. When it changes, the list scrolls to its top. */
export const listKey = computed(() => JSON.stringify([search.value, status.value, agent.value, days.value]));
export const link = signal<LinkState>("connecting");
export const thread = signal<OpenThread | undefined>(undefined);
/** The entry that the inspector panel shows. */
export const inspected = signal<{ readonly seq: number } | undefined>(undefined);
export const runAction = computed(() => source.value.act);
/** Set while a search is incomplete. Threads that changed after this time were searched. */
export const searchedTo = signal<number | undefined>(undefined);
export const isLooking = signal(false);
/** The message shown after the server has refused the one-time code of the address. */
export const refusedCode = signal<string | undefined>(undefined);
let cursor: string | undefined;
let asked = 0;
/** The changes that arrived during a load of the list. The loaded list may be older. */
let changesDuringLoad: (() => void)[] | undefined;
/** A search continues without a click until it finds `ENOUGH` threads or has sent `TRIES` requests. */
const ENOUGH = 20;
const TRIES = 12;

export async function start(): Promise<void> {
  try {
    const data = embeddedData();
    if (data === undefined) refusedCode.value = await enter();
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
      // The stream sends the changes after this moment, so the list is loaded after it.
      if (state === "open" && link.peek() !== "open") void refreshList();
      link.value = state;
    },
  });
  effect(() => {
    // Reading `listKey` subscribes this effect to the search and the filters.
    void listKey.value;
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
  const changes: (() => void)[] = [];
  changesDuringLoad = changes;
  isLooking.value = false;
  try {
    const page = await source.peek().threads(queryOf());
    if (mine !== asked) return; // a newer request has replaced this one
    list.value = { state: "there", value: page.threads };
    changesDuringLoad = undefined;
    for (const change of changes) change();
    noteAgents(page.threads);
    turning = undefined; // a page that is being loaded belongs to the old list
    turn(page);
    if (searchedTo.peek() !== undefined) await searchFurther();
  } catch (error) {
    if (mine === asked) list.value = failed(error);
  }
}

function turn({ cursor: next, searchedTo: moment }: ThreadRowPage): void {
  cursor = next;
  hasMore.value = next !== undefined;
  searchedTo.value = next === undefined ? undefined : moment;
}

/** Continues an incomplete search until it finds more threads. The user may click several times. */
export async function searchFurther(): Promise<void> {
  const mine = asked;
  const length = () => {
    const known = list.peek();
    return known.state === "there" ? known.value.length : 0;
  };
  const before = length();
  isLooking.value = true;
  for (let tries = 0; tries < TRIES && mine === asked; tries++) {
    if (searchedTo.peek() === undefined || length() - before >= ENOUGH || !(await moreThreads())) break;
  }
  if (mine === asked) isLooking.value = false;
}

let turning: string | undefined;

/** Loads the next page of the list. Returns whether there was one. */
export async function moreThreads(): Promise<boolean> {
  const mine = asked;
  const place = cursor;
  if (place === undefined || place === turning || list.peek().state !== "there") return false;
  turning = place;
  const page = await attempt(() => source.peek().threads({ ...queryOf(), cursor: place }));
  if (mine === asked) turning = undefined;
  const known = list.peek();
  if (page === undefined || mine !== asked || known.state !== "there") return false;
  const ids = new Set(known.value.map(({ id }) => id));
  list.value = { state: "there", value: [...known.value, ...page.threads.filter(({ id }) => !ids.has(id))] };
  noteAgents(page.threads);
  turn(page);
  return true;
}

/**
 * Moves a changed thread to the top of the list. For an unknown thread the server decides whether it matches the
 * search.
 */
export function show(row: ThreadRow): void {
  changesDuringLoad?.push(() => show(row));
  const known = list.peek();
  if (known.state !== "there") return;
  const old = known.value.find(({ id }) => id === row.id);
  if (old === undefined ? isFiltered.peek() : old.updatedAt > row.updatedAt) return;
  const others = known.value.filter(({ id }) => id !== row.id);
  list.value = { state: "there", value: [{ ...old, ...row }, ...others].sort((a, b) => b.updatedAt - a.updatedAt) };
}

export async function newThread(prompt?: string): Promise<void> {
  const actions = runAction.peek();
  if (actions === undefined) return;
  const row = await attempt(() => actions.create());
  if (row === undefined) return;
  show(row);
  go({ threadId: row.id });
  if (prompt !== undefined) await attempt(() => actions.ask(row.id, prompt));
}

export async function removeThread(id: string): Promise<void> {
  const done = await attempt(async () => {
    await runAction.peek()?.remove(id);
    return true;
  });
  if (!done) return;
  forget(id);
}

function forget(id: string): void {
  changesDuringLoad?.push(() => forget(id));
  const known = list.peek();
  if (known.state === "there") list.value = { state: "there", value: known.value.filter((row) => row.id !== id) };
  // A page that was opened after the deletion says that there is no such thread.
  if (route.peek().threadId === id && thread.peek()?.detail.peek().state === "there") go({});
}

export async function fork(atSeq: number): Promise<void> {
  const from = thread.peek();
  const row = from && (await attempt(() => runAction.peek()?.fork(from.id, atSeq)));
  if (!row) return;
  show(row);
  go({ threadId: row.id });
}
