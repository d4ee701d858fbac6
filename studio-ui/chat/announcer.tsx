import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { textOf } from "../parts/content.ts";
import { oneLine } from "../parts/format.ts";
import type { ChatItem } from "./conversation.ts";

interface Props {
  /** The request whose end was announced. */
  readonly ended: string | undefined;
  readonly waiting: number;
  readonly items: readonly ChatItem[];
}

/** Announces ends to screen readers. Partial answers and single calls are not announced: they would be noise. */
export function Announcer({ ended, waiting, items }: Props) {
  const said = useSignal("");
  useEffect(() => {
    if (ended !== undefined) said.value = ending(items);
  }, [ended]);
  useEffect(() => {
    if (waiting > 0) said.value = waiting === 1 ? "A call waits for you." : `${waiting} calls wait for you.`;
  }, [waiting]);
  return (
    <p class="visually-hidden announcer" role="status">
      {said.value}
    </p>
  );
}

function ending(items: readonly ChatItem[]): string {
  const last = items.at(-1);
  if (last?.type === "assistant") return `Answer: ${oneLine(textOf(last.content), 600)}`;
  return last?.type === "line" ? `${last.line.label}: ${last.line.text}` : "The request has ended.";
}
