import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { ThreadRow } from "../data/contract.ts";
import { ago, moment, plural, shortId } from "../parts/format.ts";
import { Loading, Problem } from "../parts/states.tsx";
import { stateOf } from "../parts/thread-state.ts";
import { hrefOf, route } from "../state/route.ts";
import {
  hasMore,
  isFiltered,
  isLooking,
  list,
  listKey,
  moreThreads,
  refreshList,
  searchedTo,
  searchFurther,
} from "../state/studio.ts";

const ROW = 50;
const OVERSCAN = 8;

/** Lists the threads that match the search and the filters. Only the visible rows are drawn. */
export function ThreadList() {
  const rows = list.value;
  if (rows.state === "loading") return <Loading what="threads" />;
  if (rows.state === "failed") return <Problem {...rows} retry={() => void refreshList()} />;
  if (rows.value.length === 0 && searchedTo.value === undefined) {
    return (
      <p class="no-threads">
        {isFiltered.value ? "No thread matches." : "No threads yet. The first one starts with a question."}
      </p>
    );
  }
  // The key resets the scroll position when the search or the filters change.
  return <Rows key={listKey.value} rows={rows.value} />;
}

function Rows({ rows }: { readonly rows: readonly ThreadRow[] }) {
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(800);
  const now = useNow();
  const current = rows.findIndex(({ id }) => id === route.value.threadId);
  const from = Math.max(0, Math.min(Math.floor(top.value / ROW) - OVERSCAN, rows.length));
  const to = Math.min(rows.length, Math.ceil((top.value + height.value) / ROW) + OVERSCAN);
  useLayoutEffect(() => {
    const element = box.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => {
      height.value = element.clientHeight;
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  const shown = useRef(route.value.threadId);
  useLayoutEffect(() => {
    // Scrolls to a thread selected by keyboard, unless it is visible already.
    const element = box.current;
    if (element === null || current < 0 || shown.current === route.value.threadId) return;
    shown.current = route.value.threadId;
    const at = current * ROW;
    if (at < element.scrollTop) element.scrollTop = at;
    else if (at + ROW > element.scrollTop + element.clientHeight) element.scrollTop = at + ROW - element.clientHeight;
  }, [route.value.threadId]);
  useEffect(() => {
    // No scroll event follows when a window is taller than the list, or when the list was loaded again at its end.
    if (box.current !== null) fill(box.current);
  }, [rows, height.value]);
  return (
    <div
      class="threads"
      ref={box}
      onScroll={({ currentTarget }) => {
        top.value = currentTarget.scrollTop;
        fill(currentTarget);
      }}
    >
      <ul style={{ height: `${rows.length * ROW}px`, paddingTop: `${from * ROW}px` }}>
        {rows.slice(from, to).map((row, index) => (
          <Row key={row.id} row={row} now={now} at={from + index} of={rows.length} />
        ))}
      </ul>
      <More isEmpty={rows.length === 0} />
    </div>
  );
}

/** Loads more threads when the end of the list is near. */
function fill({ scrollTop, scrollHeight, clientHeight }: HTMLElement): void {
  const isNearEnd = scrollHeight - scrollTop - clientHeight < 400;
  if (isNearEnd && hasMore.value && searchedTo.value === undefined) void moreThreads();
}

/** The button below the list. It continues a search, or loads more threads. */
function More({ isEmpty }: { readonly isEmpty: boolean }) {
  if (searchedTo.value !== undefined) {
    return (
      <div class="search-further" role="status">
        <p>
          {isEmpty ? "Nothing found so far. " : ""}Searched back to {moment(searchedTo.value)}.
        </p>
        {isLooking.value ? (
          <p class="dim">Searching…</p>
        ) : (
          <button type="button" onClick={() => void searchFurther()}>
            Search further
          </button>
        )}
      </div>
    );
  }
  if (!hasMore.value) return null;
  return (
    <button type="button" class="earlier" onClick={() => void moreThreads()}>
      More threads
    </button>
  );
}

interface RowProps {
  readonly row: ThreadRow;
  readonly now: number;
  readonly at: number;
  readonly of: number;
}

function Row({ row, now, at, of }: RowProps) {
  const isCurrent = route.value.threadId === row.id;
  const state = stateOf(row);
  return (
    <li aria-posinset={at + 1} aria-setsize={hasMore.value ? -1 : of}>
      <a
        class="thread-row"
        href={hrefOf({ threadId: row.id, tab: route.value.threadId === undefined ? "chat" : route.value.tab })}
        aria-current={isCurrent ? "page" : undefined}
      >
        <span class={`dot ${state}`} title={state} />
        <span class="title">{row.title || "Untitled"}</span>
        <time title={moment(row.updatedAt)}>{ago(row.updatedAt, now)}</time>
        <span class="sub">
          {row.parentThreadId
            ? `fork of ${shortId(row.parentThreadId)} at #${row.forkSeq}`
            : plural(row.rev, "entry", "entries")}
          {state !== "idle" && ` · ${state}`}
        </span>
      </a>
    </li>
  );
}

/** Returns the current time, updated every half minute, for texts such as "5 min ago". */
function useNow(): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(now.value, Date.now());
}
