import type { Entry } from "heddle";
import type { VNode } from "preact";
import { useMemo } from "preact/hooks";
import type { ThreadDetail } from "../data/contract.ts";
import { VirtualList } from "../parts/virtual-list.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { Blank, Row } from "./row.tsx";

export interface ListProps {
  readonly thread: OpenThread;
  readonly detail: ThreadDetail;
  readonly selected: number | undefined;
  /** The entry to scroll to whenever `moment` changes. */
  readonly reveal: { readonly index: number; readonly moment: number };
  readonly onSelect: (seq: number) => void;
}

/** A drawn row and its inputs, so that it is not drawn again for the same inputs. */
interface Drawn {
  readonly entry: Entry;
  readonly before: Entry | undefined;
  readonly forks: readonly unknown[];
  readonly shown: VNode;
}

/** Draws each entry once, until it, the entry before it, or the forks of the thread change. */
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

/** All entries of the thread. Only the visible ones are loaded. */
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
/** Loads at once after a jump. While the reader drags past thousands of rows, nothing is loaded. */
function soon(read: () => void): void {
  const now = performance.now();
  clearTimeout(timer);
  if (now - last > 200) read();
  else timer = setTimeout(read, 40);
  last = now;
}
