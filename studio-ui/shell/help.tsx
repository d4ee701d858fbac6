import { Icon } from "../parts/icon.tsx";
import { useDialog } from "./dialog.ts";
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
