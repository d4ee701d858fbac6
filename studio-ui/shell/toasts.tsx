import { Icon } from "../parts/icon.tsx";
import { dismiss, toasts } from "../state/toasts.ts";

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, tone, text, code }) => (
        <div key={id} class={`toast ${tone}`}>
          <p>
            {text} {code && <code>{code}</code>}
          </p>
          <button type="button" class="ghost" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}
