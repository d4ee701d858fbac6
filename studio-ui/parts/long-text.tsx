import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { count, cut } from "./format.ts";

/** A longer text is cut at first, because drawing it would be slow. */
const MOST = 20_000;

interface Props {
  readonly text: string;
  readonly children: (shown: string) => ComponentChildren;
}

/** Shows the start of a long text, with a button for all of it. */
export function LongText({ text, children }: Props) {
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
