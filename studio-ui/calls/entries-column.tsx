import { type Signal, useComputed, useSignal } from "@preact/signals";
import type { EntryRule, EntryStatus } from "heddle/core";
import type { CallDetail } from "../data/contract.ts";
import { lineOf } from "../parts/entry-line.ts";
import { count } from "../parts/format.ts";
import { revealing, VirtualList } from "../parts/virtual-list.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { inspected } from "../state/studio.ts";
import { type Highlight, highlightedEntries } from "./highlight.ts";

interface Props {
  readonly thread: OpenThread;
  readonly detail: CallDetail;
  readonly pointed: Signal<Highlight>;
}

type Filter = EntryStatus | "all" | "hidden";

/** Lists every entry of the thread, and why the entry is or is not in the context of the call. */
export function EntriesColumn({ thread, detail, pointed }: Props) {
  const filter = useSignal<Filter>("all");
  const unread = detail.explained.filter(({ status }) => status === "not_loaded");
  const explained = detail.explained.filter(({ status }) => status !== "not_loaded");
  const rows = useComputed(() => explained.filter(({ status }) => fits(status, filter.value)));
  const counts = Map.groupBy(explained, ({ status }) => status);
  const hidden = explained.filter(({ status }) => fits(status, "hidden")).length;
  const lit = highlightedEntries(pointed.value, detail);
  const { seq, message } = pointed.value;
  const selected = rows.value.findIndex((row) => row.seq === seq);
  const end = useSignal(revealing(explained.length - 1));
  const first = message === undefined ? -1 : rows.value.findIndex((row) => lit.has(row.seq));
  return (
    <aside class="entries" aria-label="Entries and why">
      <div class="chips" role="group" aria-label="Show entries that are">
        <Chip filter={filter} value="all" text="all" n={explained.length} />
        <Chip filter={filter} value="hidden" text="not shown" n={hidden} />
        {[...counts].map(([status, entries]) => (
          <Chip key={status} filter={filter} value={status} text={STATUS[status]} n={entries.length} />
        ))}
      </div>
      {unread.map(({ seq: from, toSeq }) => (
        <p key={from} class="hint">
          Entries #{from} to #{toSeq} are before all shown entries and were not read.
        </p>
      ))}
      {rows.value.length === 0 && <p class="hint">No entry matches.</p>}
      <VirtualList
        label="Entries of the thread, with the reason"
        length={rows.value.length}
        rowHeight={44}
        selected={selected < 0 ? undefined : selected}
        reveal={first >= 0 ? { index: first, moment: first + 1e6 } : end.value}
        idOf={(index) => `why-${rows.value[index]?.seq}`}
        onSelect={(index) => {
          const row = rows.value[index];
          if (row === undefined) return;
          pointed.value = { seq: row.seq };
          inspected.value = { seq: row.seq };
        }}
        onWindow={(from, to) => {
          const [a, b] = [rows.value[from]?.seq, rows.value[Math.max(from, to)]?.seq];
          if (a !== undefined && b !== undefined)
            void thread.log.ensure(a, Math.min(b, a + 400)).catch(() => undefined);
        }}
        row={(index) => {
          void thread.log.version.value;
          const row = rows.value[index];
          if (row === undefined) return null;
          const entry = thread.log.get(row.seq);
          const line = entry ? lineOf(entry) : { tone: "note", label: row.kind, text: "" };
          return (
            <div
              class={`why status-${row.status}${lit.has(row.seq) ? " lit" : ""}`}
              onMouseEnter={() => (pointed.value = { seq: row.seq })}
              onMouseLeave={() => (pointed.value = {})}
            >
              <span class="seq">{row.seq}</span>
              <span class={`kind tone-${line.tone}`}>{line.label}</span>
              <span class="text">{line.text}</span>
              <span class={`status ${row.status}`}>{STATUS[row.status]}</span>
              <span class="reason">{REASONS[row.rule]}</span>
              <span class="tokens">{row.tokens > 0 ? count(row.tokens) : ""}</span>
            </div>
          );
        }}
      />
    </aside>
  );
}

const SHOWN: readonly EntryStatus[] = ["shown", "repaired", "cleared"];

function fits(status: EntryStatus, filter: Filter): boolean {
  if (filter === "all") return true;
  return filter === "hidden" ? !SHOWN.includes(status) : status === filter;
}

function Chip({ filter, value, text, n }: { filter: Signal<Filter>; value: Filter; text: string; n: number }) {
  return (
    <button
      type="button"
      class={`chip ${value}`}
      aria-pressed={filter.value === value}
      onClick={() => (filter.value = value)}
    >
      {text} <b>{count(n)}</b>
    </button>
  );
}

/** Why an entry is or is not in the context. */
const REASONS: Readonly<Record<EntryRule, string>> = {
  in_window: "in the window",
  head_of_cut_request: "kept: the question of a request that the window cuts",
  summary_in_use: "is the summary",
  context_in_use: "is the context that replaced the lane",
  covered_by_summary: "covered by the summary",
  before_window: "before the window: the budget or a limit does not allow it",
  result_cleared: "a marker replaces this old result",
  call_interrupted: "its call was interrupted; it got a synthetic error result",
  result_without_call: "a result without its call",
  second_result: "a second result of the same call",
  blank: "blank",
  before_replace: "before the lane was replaced",
  newer_summary: "a newer summary is used",
  answer_cut: "only what was spoken is shown",
  malformed_summary: "this summary has no text or no toSeq",
  newer_replace: "a newer replacement is used",
  summaries_off: "the policy uses no summaries",
  lane_not_projected: "on another lane",
  kind_not_included: "this kind is not shown to models",
  operation: "an operation, without text",
  setting: "a setting",
  nothing_to_show: "nothing to show",
  before_loaded: "before the entries that were read",
};

const STATUS: Readonly<Record<EntryStatus, string>> = {
  shown: "shown",
  summarised: "summarized",
  cut: "cut",
  cleared: "cleared",
  repaired: "repaired",
  dropped: "dropped",
  superseded: "superseded",
  other_lane: "other lane",
  not_projectable: "not for models",
  not_loaded: "not read",
};
