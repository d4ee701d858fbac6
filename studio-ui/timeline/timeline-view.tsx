import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ThreadDetail } from "../data/contract.ts";
import { count, shortId } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { revealing } from "../parts/virtual-list.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { hrefOf, route } from "../state/route.ts";
import { inspected } from "../state/studio.ts";
import { showToast } from "../state/toasts.ts";
import { AllEntries } from "./all-entries.tsx";
import { FoundEntries } from "./found-entries.tsx";
import { FilterBar, filterFromRoute, goToEntry, hasFilter, setFilter } from "./timeline-filter.tsx";

/** Lists the entries of the thread, one line each. A filter is optional. */
export function TimelineView({ thread }: { readonly thread: OpenThread }) {
  const { log, detail } = thread;
  const reveal = useSignal(revealing(route.peek().seq ?? log.rev.peek() - 1));
  const hasOpened = useSignal(false);
  const rev = log.rev.value;
  useEffect(() => {
    // Scrolls once, when the length of the thread is known: to the selected entry, else to the last. Later only the
    // reader scrolls.
    if (rev === 0 || hasOpened.value) return;
    hasOpened.value = true;
    reveal.value = revealing(route.peek().seq ?? rev - 1);
  }, [rev]);
  useEffect(() => {
    if (route.value.seq !== undefined) inspected.value = { seq: route.value.seq };
  }, [route.value.seq]);

  const state = detail.value;
  if (state.state === "loading") return <Loading what="the timeline" />;
  if (state.state === "failed") return <Problem {...state} retry={() => void thread.refresh()} />;
  if (rev === 0) return <Empty title="Nothing has happened yet" />;
  const filtering = filterFromRoute(thread.id, route.value);
  const list = {
    thread,
    detail: state.value,
    selected: route.value.seq,
    reveal: reveal.value,
    onSelect: (seq: number) => {
      goToEntry(filtering, seq);
      inspected.value = { seq };
    },
  };
  return (
    <section class="timeline" aria-label="Timeline">
      <TimelineBar
        detail={state.value}
        rev={rev}
        onEdge={(seq) => (reveal.value = revealing(seq))}
        onJump={(seq) => {
          goToEntry(filtering, seq);
          reveal.value = revealing(seq);
        }}
      />
      <FilterBar
        filtering={filtering}
        lanes={state.value.lanes}
        onChange={(next) => {
          setFilter(next);
          reveal.value = revealing(route.peek().seq ?? rev - 1);
        }}
      />
      {hasFilter(filtering) ? <FoundEntries {...list} filtering={filtering} /> : <AllEntries {...list} />}
    </section>
  );
}

interface BarProps {
  readonly detail: ThreadDetail;
  readonly rev: number;
  readonly onEdge: (seq: number) => void;
  readonly onJump: (seq: number) => void;
}

function TimelineBar({ detail: { lanes, activeLane, parentThreadId, forkSeq }, rev, onEdge, onJump }: BarProps) {
  function jump(text: string): void {
    const seq = Number(text.replace(/[#,\s]/g, ""));
    if (Number.isInteger(seq) && seq >= 0 && seq < rev) onJump(seq);
    else showToast(`There is no entry ${text}. Enter a number from 0 to ${count(rev - 1)}.`);
  }
  return (
    <div class="timeline-bar">
      <span>
        <b>{count(rev)}</b> entries
      </span>
      {parentThreadId !== undefined && (
        <a href={hrefOf({ threadId: parentThreadId, tab: "timeline", ...(forkSeq !== undefined && { seq: forkSeq }) })}>
          <Icon name="fork" size={14} /> forked from {shortId(parentThreadId)} at #{forkSeq}
        </a>
      )}
      {lanes.length > 1 && (
        <span class="dim">
          {lanes.length} lanes, active: {activeLane}
        </span>
      )}
      <form
        class="jump"
        onSubmit={(event) => {
          event.preventDefault();
          jump(new FormData(event.currentTarget).get("seq")?.toString() ?? "");
        }}
      >
        <label for="jump">Jump to</label>
        <input id="jump" name="seq" inputMode="numeric" placeholder="seq" autocomplete="off" />
      </form>
      <button type="button" class="ghost" onClick={() => onEdge(0)}>
        Start
      </button>
      <button type="button" class="ghost" onClick={() => onEdge(rev - 1)}>
        End
      </button>
    </div>
  );
}
