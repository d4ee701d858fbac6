import type { Entry } from "heddle";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { ThreadDetail } from "../data/contract.ts";
import { laneOf, lineOf } from "../parts/entry-line.ts";
import { shortId, time } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { VirtualList } from "../parts/virtual-list.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { go } from "../state/route.ts";

export interface ListProps {
  readonly thread: OpenThread;
  readonly detail: ThreadDetail;
  readonly selected: number | undefined;
  /** Scrolls to the entry at `index` whenever `moment` changes. */
  readonly reveal: { readonly index: number; readonly moment: number };
  readonly onSelect: (seq: number) => void;
}

/** A row with the values it was drawn from. The same values need no new drawing. */
interface Drawn {
  readonly entry: Entry;
  readonly before: Entry | undefined;
  readonly forks: readonly unknown[];
  readonly shown: VNode;
}

/** Caches one drawn row per entry. A row is redrawn if its entry, the entry before it, or the forks change. */
export function useRows({ forks, forkSeq }: ThreadDetail) {
  const drawn = useMemo(() => new Map<number, Drawn>(), []);
  const forksAt = useMemo(() => Map.groupBy(forks, (fork) => fork.forkSeq), [forks]);
  return (entry: Entry, before: Entry | undefined): VNode => {
    const { seq } = entry;
    const known = drawn.get(seq);
    if (known?.entry === entry && known.before === before && known.forks === forks) return known.shown;
    const isInherited = forkSeq !== undefined && seq <= forkSeq;
    const shown = <Row entry={entry} before={before} forks={forksAt.get(seq) ?? []} isInherited={isInherited} />;
    if (drawn.size > 2000) drawn.clear();
    drawn.set(seq, { entry, before, forks, shown });
    return shown;
  };
}

/** Lists all entries of the thread. Only the visible entries are loaded. */
export function AllEntries({ thread, detail, selected, reveal, onSelect }: ListProps) {
  const { log } = thread;
  const rowOf = useRows(detail);
  return (
    <VirtualList
      label="Entries"
      length={log.rev.value}
      rowHeight={28}
      selected={selected}
      reveal={reveal}
      idOf={(index) => `row-${index}`}
      onSelect={onSelect}
      onWindow={(from, to) => soon(() => void log.ensure(from, to).catch(() => undefined))}
      row={(seq) => {
        void log.version.value;
        const entry = log.get(seq);
        return entry === undefined ? <Blank seq={seq} /> : rowOf(entry, log.get(seq - 1));
      }}
    />
  );
}

let timer: ReturnType<typeof setTimeout> | undefined;
let last = Number.NEGATIVE_INFINITY;
/** Calls `read` at once after a jump. During a fast scroll it waits, so that no rows in passing are loaded. */
function soon(read: () => void): void {
  const now = performance.now();
  clearTimeout(timer);
  if (now - last > 200) read();
  else timer = setTimeout(read, 40);
  last = now;
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

/** Shows one entry as one line. */
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
        // A click opens the fork. It is not a link, because list boxes cannot contain links; the inspector has one.
        <span key={id} class="pill fork" title={`Fork ${id}`} onClick={() => go({ threadId: id })}>
          <Icon name="fork" size={12} /> {shortId(id)}
        </span>
      ))}
    </div>
  );
}
