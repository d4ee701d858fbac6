import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { agent, agents, days, info, link, newThread, runAction, search, status } from "../state/studio.ts";
import { nextTheme, theme } from "../state/theme.ts";
import { DropPlace, ImportButton, Imports } from "./import.tsx";
import { panels } from "./panels.ts";
import { ThreadList } from "./thread-list.tsx";

export { stateOf } from "../parts/thread-state.ts";

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
    <DropPlace>
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
        <ImportButton />
        {runAction.value && (
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
      <Imports />
      <ThreadList />
      <Foot />
    </DropPlace>
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
