import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { plural } from "./format.ts";

const HEAD = 10;
const TAIL = 60;
const STEP = 200;

interface Props {
  readonly length: number;
  readonly item: (index: number) => ComponentChildren;
}

/** Shows the start and the end of a long list, with a button for more in between. */
export function LongList({ length, item }: Props) {
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
