import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { SteerMode } from "../data/source.ts";
import { Icon } from "../parts/icon.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { info } from "../state/studio.ts";
import { attempt, showToast } from "../state/toasts.ts";

let isWanted = false;
/**
 * Focuses the composer of the next thread that opens. Call it after creating a thread, so that the user can type at
 * once.
 */
export function focusComposer(): void {
  isWanted = true;
}

type Ways = readonly [readonly [SteerMode, string], ...(readonly [SteerMode, string])[]];

/** The effects of a message on a request that is open, as the policy `busy` of a chat. The first one is the default. */
const WAYS: { readonly [state in "answering" | "approval" | "waiting"]: Ways } = {
  answering: [
    ["steer", "before the next model call"],
    ["follow_up", "when the request is done"],
    ["cancel", "now: the request is cancelled"],
  ],
  approval: [
    ["deny", "as the reason why the call is denied"],
    ["follow_up", "when the request is done"],
    ["cancel", "now: the request is cancelled"],
  ],
  waiting: [
    ["steer", "before the next model call"],
    ["follow_up", "when the request is done"],
    ["cancel", "now: the request is cancelled"],
  ],
};

/** Sends a new request, or steers the running one. */
export function Composer({ thread }: { readonly thread: OpenThread }) {
  const text = useSignal("");
  const chosen = useSignal<SteerMode>("steer");
  const isSending = useSignal(false);
  const box = useRef<HTMLTextAreaElement>(null);
  const actions = thread.source.act;
  const isBusy = thread.isBusy.value;
  const waiting = thread.waiting.value;
  const isWaiting = isBusy && waiting.length > 0;
  const ways = isWaiting ? (waiting.includes("approval") ? WAYS.approval : WAYS.waiting) : WAYS.answering;
  const way = ways.some(([name]) => name === chosen.value) ? chosen.value : ways[0][0];
  useEffect(() => {
    // Focuses the composer of a new or empty thread. In other threads, keys are shortcuts.
    if (isWanted || thread.log.rev.peek() === 0) box.current?.focus({ preventScroll: true });
    isWanted = false;
  }, [thread.id]);
  if (actions === undefined) {
    return (
      <p class="read-only">
        {thread.source.kind === "file"
          ? "An exported thread: you can read it, but not change it."
          : "Read-only: this Studio changes nothing."}
      </p>
    );
  }

  async function send(): Promise<void> {
    const content = text.value.trim();
    if (content === "" || actions === undefined || isSending.value) return;
    isSending.value = true;
    const sent = await attempt(async () => {
      if (!isBusy) await actions.ask(thread.id, content);
      else if (way === "deny" || way === "cancel") {
        await actions.turn(thread.id, { content, busy: way });
        await thread.refreshDetail();
      } else {
        const { id, accepted, reason } = await actions.steer(thread.id, content, way);
        if (!accepted)
          throw Object.assign(new Error(`The text was not accepted: ${reason ?? "unknown reason"}.`), {
            code: reason,
          });
        thread.steers.value = [...thread.steers.value, { id, content, kind: way }];
      }
      return true;
    });
    isSending.value = false;
    if (sent) text.value = "";
    box.current?.focus();
  }

  const known = info.value.state === "there" ? info.value.value : undefined;
  const { agent = known?.agent } = thread.detail.value.state === "there" ? thread.detail.value.value : {};
  const who = known?.agents.find(({ name }) => name === agent);
  return (
    <form
      class={isBusy ? "composer busy" : "composer"}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      {thread.steers.value.map(({ id, content, kind }) => (
        <p key={id} class="queued">
          <span class="pulse" aria-hidden="true" /> waits{" "}
          {kind === "steer" ? "for the next step" : "for the end of the request"}: {content}
        </p>
      ))}
      <div class="composer-box">
        <label class="visually-hidden" for="composer">
          {isBusy ? "Steer the request" : "Message"}
        </label>
        <textarea
          id="composer"
          ref={box}
          rows={Math.min(8, text.value.split("\n").length)}
          placeholder={isWaiting ? "It waits for you…" : isBusy ? "Steer it while it runs…" : "Ask something…"}
          dir="auto"
          value={text.value}
          onInput={(event) => (text.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
            event.preventDefault();
            void send();
          }}
        />
        {isBusy && (
          <button type="button" class="stop" onClick={() => void cancel(thread)} title="Cancel the request (.)">
            <Icon name="stop" /> Cancel
          </button>
        )}
        <button
          type="submit"
          class="primary send"
          disabled={text.value.trim() === "" || isSending.value}
          aria-label={isBusy ? "Steer" : "Send"}
        >
          <Icon name="send" />
        </button>
      </div>
      <p class="composer-foot">
        {isBusy ? (
          <label>
            Your words reach it{" "}
            <select value={way} onChange={(event) => (chosen.value = event.currentTarget.value as SteerMode)}>
              {ways.map(([name, title]) => (
                <option key={name} value={name}>
                  {title}
                </option>
              ))}
            </select>
          </label>
        ) : (
          <span class="composer-keys">
            <kbd>Enter</kbd> sends, <kbd>Shift</kbd> <kbd>Enter</kbd> breaks the line
          </span>
        )}
        {who && (
          <span class="who">
            {known?.demo && agent === known.agent && <span class="pill demo">offline demo</span>} {who.model}
          </span>
        )}
      </p>
    </form>
  );
}

export async function cancel(thread: OpenThread): Promise<void> {
  const done = await attempt(async () => {
    await thread.source.act?.cancel(thread.id);
    return true;
  });
  if (done) showToast("Cancelled.");
  await thread.refreshDetail();
}
