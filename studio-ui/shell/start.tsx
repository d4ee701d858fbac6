import { focusComposer } from "../chat/composer.tsx";
import { FirstAsk, Prompts } from "../chat/welcome.tsx";
import { Icon } from "../parts/icon.tsx";
import { info, newThread, runAction } from "../state/studio.ts";
import { panels } from "./panels.ts";

function begin(text: string): Promise<void> {
  focusComposer();
  return newThread(text);
}

/** The start page. It is shown while no thread is open. */
export function Start() {
  if (info.value.state !== "there") return null;
  const { demo, model, prompts, store } = info.value.value;
  return (
    <section class="start" aria-label="Start">
      <button type="button" class="ghost only-narrow" onClick={() => (panels.list.value = true)}>
        <Icon name="menu" /> Threads
      </button>
      <div class="welcome">
        <h1>Heddle Studio</h1>
        <p>
          The thread is what happened. The context is what the model gets. Studio shows both, and why the second is what
          it is.
        </p>
        <p class="start-facts">
          {demo ? (
            <>
              <span class="pill demo">offline demo</span> <b>{model}</b> answers: a small program on this machine, no
              language model. With a key in the environment, like <code>ANTHROPIC_API_KEY</code>, a real one does.
            </>
          ) : (
            <>
              <b>{model}</b> answers.
            </>
          )}{" "}
          Threads are kept in <b>{store}</b>.
        </p>
        {runAction.value ? (
          <>
            <FirstAsk onAsk={begin} />
            <Prompts prompts={prompts} onPick={(text) => void begin(text)} />
            <button type="button" onClick={() => void newThread()}>
              <Icon name="plus" /> New thread <kbd>n</kbd>
            </button>
          </>
        ) : (
          <p class="hint">Read-only: this Studio shows threads and changes nothing. Choose one from the list.</p>
        )}
      </div>
    </section>
  );
}
