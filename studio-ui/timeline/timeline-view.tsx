import { useComputed, useSignal } from "@preact/signals";
import type { Entry } from "heddle";
import type { VNode } from "preact";
import { useEffect, useMemo } from "preact/hooks";
import { laneOf, lineOf } from "../parts/entry-line.ts";
import { count, shortId, time } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { revealing, VirtualList } from "../parts/virtual-list.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { go, hrefOf, route } from "../state/route.ts";
import { inspected } from "../state/studio.ts";
import { tell } from "../state/toasts.ts";

/** Every entry of the thread, one line each; only those in sight are read. */
export function TimelineView({ thread }: { readonly thread: OpenThread }) {
  const { log, detail } = thread;
  const reveal = useSignal(revealing(route.peek().seq ?? log.rev.peek() - 1));
  const selected = useComputed(() => route.value.seq);
  const hasOpened = useSignal(false);
  const drawn = useMemo(() => new Map<number, Drawn>(), []);
  const rev = log.rev.value;
  useEffect(() => {
    // The length is known only now; from then on the reader alone scrolls.
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
  const { forks, parentThreadId, forkSeq } = state.value;
  const forksAt = Map.groupBy(forks, (fork) => fork.forkSeq);

  function jump(text: string): void {
    const seq = Number(text.replace(/[#,\s]/g, ""));
    if (!Number.isInteger(seq) || seq < 0 || seq >= log.rev.peek()) {
      tell(`There is no entry ${text}: they go from 0 to ${count(log.rev.peek() - 1)}.`);
      return;
    }
    go({ threadId: thread.id, tab: "timeline", seq }, "replace");
    reveal.value = revealing(seq);
  }

  return (
    <section class="timeline" aria-label="Timeline">
      <div class="timeline-bar">
        <span>
          <b>{count(rev)}</b> entries
        </span>
        {parentThreadId !== undefined && (
          <a
            href={hrefOf({ threadId: parentThreadId, tab: "timeline", ...(forkSeq !== undefined && { seq: forkSeq }) })}
          >
            <Icon name="fork" size={14} /> forked from {shortId(parentThreadId)} at #{forkSeq}
          </a>
        )}
        {state.value.lanes.length > 1 && (
          <span class="dim">
            {state.value.lanes.length} lanes, active: {state.value.activeLane}
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
        <button type="button" class="ghost" onClick={() => (reveal.value = revealing(0))}>
          Start
        </button>
        <button type="button" class="ghost" onClick={() => (reveal.value = revealing(rev - 1))}>
          End
        </button>
      </div>
      <VirtualList
        label="Entries"
        length={rev}
        rowHeight={28}
        selected={selected.value}
        reveal={reveal.value}
        idOf={(index) => `row-${index}`}
        onSelect={(seq) => {
          go({ threadId: thread.id, tab: "timeline", seq }, "replace");
          inspected.value = { seq };
        }}
        onWindow={(from, to) => soon(() => void log.ensure(from, to).catch(() => undefined))}
        row={(seq) => {
          void log.version.value;
          const entry = log.get(seq);
          if (entry === undefined) return <Blank seq={seq} />;
          const known = drawn.get(seq);
          const before = log.get(seq - 1);
          if (known?.entry === entry && known.before === before && known.forks === forks) return known.shown;
          const isInherited = forkSeq !== undefined && seq <= forkSeq;
          const shown = <Row entry={entry} before={before} forks={forksAt.get(seq) ?? []} isInherited={isInherited} />;
          if (drawn.size > 2000) drawn.clear();
          drawn.set(seq, { entry, before, forks, shown });
          return shown;
        }}
      />
    </section>
  );
}

/** A row as it was drawn, and from what: the same again is not drawn again. */
interface Drawn {
  readonly entry: Entry;
  readonly before: Entry | undefined;
  readonly forks: readonly unknown[];
  readonly shown: VNode;
}

let timer: ReturnType<typeof setTimeout> | undefined;
/** While the reader drags past thousands of rows nothing is read. */
function soon(read: () => void): void {
  clearTimeout(timer);
  timer = setTimeout(read, 40);
}

function Blank({ seq }: { readonly seq: number }) {
  return (
    <div class="entry-row blank">
      <span class="seq">{seq}</span>
      <span class="skeleton" />
    </div>
  );
}

interface RowProps {
  readonly entry: Entry;
  readonly before: Entry | undefined;
  readonly forks: readonly { readonly id: string }[];
  readonly isInherited: boolean;
}

function Row({ entry, before, forks, isInherited }: RowProps) {
  const line = lineOf(entry);
  const lane = laneOf(entry);
  const isNewRequest = before !== undefined && before.refs.requestId !== entry.refs.requestId;
  const classes = ["entry-row", line.turn && "opens-turn", isNewRequest && "opens-request", isInherited && "inherited"];
  return (
    <div class={classes.filter(Boolean).join(" ")}>
      <span class="seq">{entry.seq}</span>
      <time>{time(entry.at)}</time>
      <span class={`rail tone-${line.tone}`} aria-hidden="true" />
      <span class={`kind tone-${line.tone}`}>{line.label}</span>
      <span class="text">{line.text}</span>
      {lane !== undefined && lane !== "default" && <span class="pill lane">{lane}</span>}
      {forks.map(({ id }) => (
        // The list box holds no links of its own for the keyboard; the inspector has them.
        <span key={id} class="pill fork" title={`Fork ${id}`} onClick={() => go({ threadId: id })}>
          <Icon name="fork" size={12} /> {shortId(id)}
        </span>
      ))}
    </div>
  );
}
