import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { count, cut } from "./format.ts";

/** Beyond this a text takes longer to draw than anybody wants to wait who may not even read it. */
const MOST = 20_000;

interface Props {
  readonly text: string;
  readonly children: (shown: string) => ComponentChildren;
}

/** A long text is its beginning, until all of it is wanted. */
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
