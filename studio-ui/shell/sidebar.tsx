import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ThreadRow } from "../data/contract.ts";
import { ago, moment, plural, shortId } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { hrefOf, route } from "../state/route.ts";
import {
  act,
  agent,
  agents,
  days,
  hasMore,
  info,
  isFiltered,
  link,
  list,
  moreThreads,
  newThread,
  refreshList,
  search,
  status,
} from "../state/studio.ts";
import { nextTheme, theme } from "../state/theme.ts";
import { panels } from "./panels.ts";

const STATUSES = ["running", "waiting", "completed", "failed", "cancelled"] as const;
const TIMES = [
  { days: 0, text: "Any time" },
  { days: 1, text: "Last day" },
  { days: 7, text: "Last week" },
  { days: 30, text: "Last month" },
] as const;
const THEMES = { auto: "auto", light: "sun", dark: "moon" } as const;

export function Sidebar() {
  return (
    <nav class="sidebar" aria-label="Threads">
      <header class="brand">
        <a href="#/" class="logo">
          <svg viewBox="0 0 16 16" width="18" height="18" aria-hidden="true">
            <path d="M3 2v12M8 2v12M13 2v12" />
            <path class="weft" d="M1 5.500h4M6 5.500h4M11 5.500h4M1 10.500h14" />
          </svg>
          Heddle
        </a>
        <span class="spacer" />
        <button
          type="button"
          class="ghost"
          title={`Theme: ${theme.value} (t)`}
          aria-label={`Theme: ${theme.value}`}
          onClick={nextTheme}
        >
          <Icon name={THEMES[theme.value]} />
        </button>
        <button
          type="button"
          class="ghost"
          title="Keys (?)"
          aria-label="Keys"
          onClick={() => (panels.help.value = true)}
        >
          <Icon name="help" />
        </button>
        {act.value && (
          <button
            type="button"
            class="ghost"
            title="New thread (n)"
            aria-label="New thread"
            onClick={() => void newThread()}
          >
            <Icon name="plus" />
          </button>
        )}
      </header>
      <Filters />
      <Threads />
      <Foot />
    </nav>
  );
}

function Filters() {
  const text = useSignal(search.peek());
  useEffect(() => {
    const timer = setTimeout(() => (search.value = text.value.trim()), 180);
    return () => clearTimeout(timer);
  }, [text.value]);
  return (
    <search class="filters">
      <div class="search-box">
        <Icon name="search" size={14} />
        <input
          id="search"
          type="search"
          placeholder="Search titles and messages"
          aria-label="Search titles and messages"
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
        />
        <kbd>/</kbd>
      </div>
      <div class="filter-row">
        <select
          aria-label="Status"
          value={status.value}
          onChange={(event) => (status.value = event.currentTarget.value)}
        >
          <option value="">Any status</option>
          {STATUSES.map((each) => (
            <option key={each}>{each}</option>
          ))}
        </select>
        <select
          aria-label="Changed"
          value={days.value}
          onChange={(event) => (days.value = Number(event.currentTarget.value))}
        >
          {TIMES.map((each) => (
            <option key={each.days} value={each.days}>
              {each.text}
            </option>
          ))}
        </select>
        {agents.value.length > 1 && (
          <select
            aria-label="Agent"
            value={agent.value}
            onChange={(event) => (agent.value = event.currentTarget.value)}
          >
            <option value="">Any agent</option>
            {agents.value.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        )}
      </div>
    </search>
  );
}

function Threads() {
  const rows = list.value;
  const now = useNow();
  if (rows.state === "loading") return <Loading what="threads" />;
  if (rows.state === "failed") return <Problem {...rows} retry={() => void refreshList()} />;
  if (rows.value.length === 0) {
    return (
      <p class="no-threads">
        {isFiltered.value ? "No thread is like that." : "No threads yet. The first one starts with a question."}
      </p>
    );
  }
  return (
    <ul
      class="threads"
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        if (hasMore.value && scrollHeight - scrollTop - clientHeight < 400) void moreThreads();
      }}
    >
      {rows.value.map((row) => (
        <Row key={row.id} row={row} now={now} />
      ))}
      {hasMore.value && (
        <li>
          <button type="button" class="earlier" onClick={() => void moreThreads()}>
            More threads
          </button>
        </li>
      )}
    </ul>
  );
}

function Row({ row, now }: { readonly row: ThreadRow; readonly now: number }) {
  const isCurrent = route.value.threadId === row.id;
  const state = stateOf(row);
  return (
    <li>
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

export function stateOf({ live, status: given }: Pick<ThreadRow, "live" | "status">): string {
  return given ?? (live ? "running" : "idle");
}

function Foot() {
  if (info.value.state !== "there") return null;
  const { model, demo, store, readOnly, version } = info.value.value;
  return (
    <footer class="side-foot">
      <span class={`dot link-${link.value}`} title={`Connection: ${link.value}`} />
      <span class="side-foot-text">
        <span title={model}>{demo ? <span class="pill demo">offline demo</span> : model}</span>
        <small>
          {link.value === "lost"
            ? "connection lost, trying again…"
            : `${store}${readOnly ? " · read-only" : ""} · ${version}`}
        </small>
      </span>
    </footer>
  );
}

/** The time, each half minute: how long ago something was is not worth more. */
function useNow(): number {
  const now = useSignal(Date.now());
  useEffect(() => {
    const timer = setInterval(() => (now.value = Date.now()), 30_000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(now.value, Date.now());
}
