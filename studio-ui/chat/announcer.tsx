import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { textOf } from "../parts/content.ts";
import { oneLine } from "../parts/format.ts";
import type { ChatItem } from "./conversation.ts";

interface Props {
  readonly isBusy: boolean;
  readonly waiting: number;
  readonly items: readonly ChatItem[];
}

/** Tells those who listen what has come to an end. Words on their way, and each of thirty calls, would only be noise. */
export function Announcer({ isBusy, waiting, items }: Props) {
  const said = useSignal("");
  const wasBusy = useRef(isBusy);
  useEffect(() => {
    if (wasBusy.current && !isBusy) said.value = ending(items);
    wasBusy.current = isBusy;
  }, [isBusy]);
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
  const last = items.findLast((item) => item.type === "assistant");
  return last?.type === "assistant" ? `Answer: ${oneLine(textOf(last.content), 600)}` : "The request has ended.";
}
