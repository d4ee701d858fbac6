import type { OpenThread } from "../state/open-thread.ts";
import { info } from "../state/studio.ts";
import { attempt } from "../state/toasts.ts";

/** An empty thread: names the model and offers prompts. */
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
            <b>{model}</b> answers. Whatever it is shown, you can see under <i>Model saw</i>.
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
