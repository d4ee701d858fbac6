import { useSignal } from "@preact/signals";
import { Icon } from "../parts/icon.tsx";

/** The composer of a thread that does not exist yet. */
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
