import type { Signal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { Icon } from "../parts/icon.tsx";
import { KEYS } from "./keys.ts";
import { panels } from "./panels.ts";

export function Help() {
  const dialog = useDialog(panels.help);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={() => (panels.help.value = false)}>
      <header>
        <h2 id="help-title">Keys</h2>
        <button type="button" class="ghost" aria-label="Close" onClick={() => (panels.help.value = false)}>
          <Icon name="close" />
        </button>
      </header>
      <div class="help-groups">
        {KEYS.map(({ title, keys }) => (
          <section key={title}>
            <h3>{title}</h3>
            <dl>
              {keys.map(([key, what]) => (
                <div key={key}>
                  <dt>{key.split(" ").map((each) => (each === "" ? " " : each === "…" ? "…" : <kbd>{each}</kbd>))}</dt>
                  <dd>{what}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </dialog>
  );
}

/** Connects a dialog element to a signal: the dialog is open while the signal is true. */
export function useDialog(isOpen: Signal<boolean>): RefObject<HTMLDialogElement | null> {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen.value]);
  return dialog;
}
