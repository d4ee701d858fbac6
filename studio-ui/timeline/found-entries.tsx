import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { count, plural } from "../parts/format.ts";
import { Problem } from "../parts/states.tsx";
import { revealing, VirtualList } from "../parts/virtual-list.tsx";
import { FilteredLog } from "../state/filtered-log.ts";
import { type ListProps, useRows } from "./all-entries.tsx";
import type { TimelineFilter } from "./timeline-filter.tsx";

/** A scroll within this many rows of the end continues the search. */
const NEAR = 12;

/** Lists the entries that match the filter. Scrolling to the end continues the search. */
export function FoundEntries({
  thread,
  detail,
  selected,
  reveal,
  onSelect,
  filtering,
}: ListProps & { readonly filtering: TimelineFilter }) {
  const rev = thread.log.rev.value;
  const { kinds, lane } = filtering;
  const found = useMemo(
    () => new FilteredLog(thread.source, thread.id, { kinds, lane }, reveal.index, thread.log.rev.peek()),
    [kinds.join(), lane, reveal.moment],
  );
  const rowOf = useRows(detail);
  const shown = useSignal(revealing(0));
  const entries = found.entries.value;
  const isThere = entries.length > 0;
  useEffect(() => () => found.close(), [found]);
  useEffect(() => {
    if (found.to.peek() < rev - 1) void found.newer(rev);
  }, [rev]);
  useEffect(() => {
    if (!isThere) return;
    const behind = found.entries.peek().findIndex(({ seq }) => seq > reveal.index);
    shown.value = revealing(Math.max(0, (behind < 0 ? found.entries.peek().length : behind) - 1));
  }, [found, isThere]);
  const at = entries.findIndex(({ seq }) => seq === selected);
  return (
    <>
      <Looked found={found} rev={rev} />
      <VirtualList
        label="Entries found"
        length={entries.length}
        rowHeight={28}
        selected={at < 0 ? undefined : at}
        reveal={shown.value}
        lead={found.lead.value}
        idOf={(index) => `row-${entries[index]?.seq}`}
        onSelect={(index) => {
          const entry = entries[index];
          if (entry !== undefined) onSelect(entry.seq);
        }}
        onWindow={(from, to) => {
          if (!isThere || found.state.peek() !== "resting") return;
          if (from < NEAR && found.from.peek() > 0) void found.older();
          else if (to > entries.length - NEAR && found.to.peek() < rev - 1) void found.newer(rev);
        }}
        row={(index) => {
          const entry = entries[index];
          return entry === undefined ? null : rowOf(entry, entries[index - 1]);
        }}
      />
    </>
  );
}

/** Shows the searched range, with buttons that stop or continue the search. */
function Looked({ found, rev }: { readonly found: FilteredLog; readonly rev: number }) {
  const { entries, from, to, state, problem } = found;
  if (problem.value) return <Problem {...problem.value} retry={() => void found.older()} />;
  const isWhole = from.value === 0 && to.value >= rev - 1;
  return (
    <p class="looked" role="status">
      <span>
        {plural(entries.value.length, "entry", "entries")} found
        {isWhole ? ` among ${count(rev)}` : ` from #${count(from.value)} to #${count(to.value)}`}
      </span>
      {state.value === "looking" && (
        <>
          <progress max={rev} value={to.value - from.value + 1} aria-label="Looked through" />
          <button type="button" class="ghost" onClick={() => found.stop()}>
            Stop
          </button>
        </>
      )}
      {state.value !== "looking" && from.value > 0 && (
        <button type="button" class="ghost" onClick={() => void found.older()}>
          Search further back
        </button>
      )}
    </p>
  );
}
