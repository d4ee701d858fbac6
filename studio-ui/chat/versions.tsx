import { useSignal } from "@preact/signals";
import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { attempt } from "../state/toasts.ts";

/** "2 of 3" beside a message with siblings, with buttons that switch the branch in every tab. */
export function Versions({ thread, id }: { readonly thread: OpenThread; readonly id: string }) {
  const detail = thread.detail.value;
  const siblings = detail.state === "there" ? detail.value.branches?.siblings[id] : undefined;
  if (siblings === undefined) return null;
  const { index, count, lanes } = siblings;
  const { act } = thread.source;
  const step = (by: number, title: string, icon: "left" | "right") => {
    const lane = lanes[index + by];
    return (
      <button
        type="button"
        class="version-step"
        aria-label={title}
        title={title}
        disabled={lane === undefined || act === undefined}
        onClick={() => void switchTo(thread, lane ?? "")}
      >
        <Icon name={icon} size={12} />
      </button>
    );
  };
  return (
    <span class="versions" role="group" aria-label={`Version ${index + 1} of ${count}`}>
      {step(-1, "Version before", "left")}
      <span aria-hidden="true">
        {index + 1} of {count}
      </span>
      {step(1, "Version after", "right")}
    </span>
  );
}

async function switchTo(thread: OpenThread, lane: string): Promise<void> {
  await attempt(() => thread.source.act?.context(thread.id, lane, { type: "switch", reason: "manual" }));
  await thread.refreshDetail();
}

interface EditProps {
  readonly thread: OpenThread;
  readonly id: string;
  readonly text: string;
  readonly onClose: () => void;
}

/** Writes another version of a message. The old one stays on its branch. */
export function EditForm({ thread, id, text, onClose }: EditProps) {
  const value = useSignal(text);
  const isSending = useSignal(false);
  const box = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => {
    box.current?.focus();
    box.current?.setSelectionRange(text.length, text.length);
  }, []);
  async function send(): Promise<void> {
    const content = value.value.trim();
    if (content === "" || isSending.value) return;
    isSending.value = true;
    const asked = await attempt(() => thread.source.act?.turn(thread.id, { content, edit: id }));
    isSending.value = false;
    await thread.refreshDetail();
    if (asked !== undefined) onClose();
  }
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <textarea
        ref={box}
        aria-label="Edit the message"
        dir="auto"
        rows={Math.min(12, value.value.split("\n").length + 1)}
        value={value.value}
        onInput={(event) => (value.value = event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
          event.preventDefault();
          void send();
        }}
      />
      <p class="edit-foot">
        <span class="hint">A new branch begins here. The old one stays.</span>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="primary" disabled={value.value.trim() === "" || isSending.value}>
          Send
        </button>
      </p>
    </form>
  );
}
