import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { count, cut, plural } from "./format.ts";

const HEAD = 10;
const TAIL = 60;
const STEP = 200;

interface LongListProps {
  readonly length: number;
  readonly item: (index: number) => ComponentChildren;
}

/** Shows the start and the end of a long list. A button shows more items in between. */
export function LongList({ length, item }: LongListProps) {
  const tail = useSignal(TAIL);
  const hidden = Math.max(0, length - HEAD - tail.value);
  const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => item(from + index));
  if (hidden === 0) return <>{range(0, length)}</>;
  return (
    <>
      {range(0, HEAD)}
      <p class="unchanged">
        {plural(hidden, "message")} not drawn{" "}
        <button type="button" class="ghost" onClick={() => (tail.value += STEP)}>
          Show {Math.min(STEP, hidden)} more
        </button>
      </p>
      {range(length - tail.value, length)}
    </>
  );
}

/** The characters shown at first, because drawing a very long text is slow. */
const MOST = 20_000;

interface LongTextProps {
  readonly text: string;
  readonly children: (shown: string) => ComponentChildren;
}

/** Shows the start of a long text. A button shows all of it. */
export function LongText({ text, children }: LongTextProps) {
  const isWhole = useSignal(false);
  const isCut = text.length > MOST && !isWhole.value;
  return (
    <>
      {children(isCut ? cut(text, MOST) : text)}
      {isCut && (
        <button type="button" class="show-all" onClick={() => (isWhole.value = true)}>
          Show all {count(text.length)} characters
        </button>
      )}
    </>
  );
}
