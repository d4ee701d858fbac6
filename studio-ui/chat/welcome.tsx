import { useSignal } from "@preact/signals";
import { Icon } from "../parts/icon.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { info } from "../state/studio.ts";
import { attempt } from "../state/toasts.ts";

/** The view of an empty thread. It names the model and offers prompts. */
export function Welcome({ thread }: { readonly thread?: OpenThread }) {
  if (info.value.state !== "there") return null;
  const { demo, model, prompts } = info.value.value;
  return (
    <div class="welcome">
      <h2>{demo ? "Try it, offline" : "What is on your mind?"}</h2>
      <p>
        {demo ? (
          <>
            The <b>{model}</b> demo answers. It is a small program on this machine and not a language model. Everything
            else is real: the thread, the tools, and what a model would see.
          </>
        ) : (
          <>
            <b>{model}</b> answers. Everything that it is shown is under <i>Model calls</i>.
          </>
        )}
      </p>
      {thread?.source.act && (
        <Prompts prompts={prompts} onPick={(text) => void attempt(() => thread.source.act?.ask(thread.id, text))} />
      )}
    </div>
  );
}

interface PromptsProps {
  readonly prompts: readonly { readonly title: string; readonly text: string }[];
  readonly onPick: (text: string) => void;
}

export function Prompts({ prompts, onPick }: PromptsProps) {
  return (
    <ul class="prompts">
      {prompts.map(({ title, text }) => (
        <li key={title}>
          <button type="button" class="prompt" onClick={() => onPick(text)}>
            <b>{title}</b>
            <span>{text}</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** The composer of the start page. The first message creates the thread. */
export function FirstAsk({ onAsk }: { readonly onAsk: (text: string) => Promise<void> }) {
  const text = useSignal("");
  const isSending = useSignal(false);
  async function send(): Promise<void> {
    const content = text.value.trim();
    if (content === "" || isSending.value) return;
    isSending.value = true;
    await onAsk(content);
    isSending.value = false;
  }
  return (
    <form
      class="first-ask"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <div class="composer-box">
        <input
          id="first-ask"
          dir="auto"
          autocomplete="off"
          aria-label="Ask in a new thread"
          placeholder="Ask something…"
          value={text.value}
          onInput={({ currentTarget }) => (text.value = currentTarget.value)}
        />
        <button
          type="submit"
          class="primary send"
          aria-label="Ask"
          disabled={text.value.trim() === "" || isSending.value}
        >
          <Icon name="send" />
        </button>
      </div>
    </form>
  );
}
