import { useSignal } from "@preact/signals";
import type { JsonObject, JsonValue } from "heddle";
import { type Actions, ApiError, problemOf } from "../data/source.ts";
import { Icon } from "../parts/icon.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { showToast } from "../state/toasts.ts";
import { useDialog } from "./help.tsx";
import { panels } from "./panels.ts";

type Way = "replace" | "switch" | "branch";

const WAYS: Readonly<Record<Way, { readonly title: string; readonly hint: string; readonly lane: string }>> = {
  replace: {
    title: "Replace",
    hint: "From now on the model is shown these messages instead of the lane's history. The thread keeps all entries.",
    lane: "Lane",
  },
  switch: {
    title: "Switch",
    hint: "A lane is a separate conversation within the thread. The lane you name becomes active; a new lane starts empty.",
    lane: "Lane to activate",
  },
  branch: {
    title: "Branch",
    hint: "A new lane starts with the context of this lane at an entry, and becomes active.",
    lane: "Name of the new lane",
  },
};

/** A dialog that changes the context of the model. The thread keeps all entries. */
export function ContextDialog({ thread, act }: { readonly thread: OpenThread; readonly act: Actions }) {
  const dialog = useDialog(panels.context);
  const way = useSignal<Way>("replace");
  const problem = useSignal<ReturnType<typeof problemOf> | undefined>(undefined);
  const close = () => (panels.context.value = false);
  const detail = thread.detail.value;
  const active = detail.state === "there" ? detail.value.activeLane : "default";
  const lanes = detail.state === "there" ? detail.value.lanes : [];

  async function apply(form: FormData): Promise<void> {
    problem.value = undefined;
    const text = (name: string) => form.get(name)?.toString().trim() ?? "";
    try {
      const done = await act.context(thread.id, text("lane") || active, operationOf(way.value, text, active));
      showToast(
        done.status === "deferred" ? "The change takes effect when the request has ended." : "The context was changed.",
      );
      close();
      await thread.refreshDetail();
    } catch (error) {
      problem.value = problemOf(error); // The dialog shows the error, because it covers the error messages of the page.
    }
  }

  return (
    <dialog ref={dialog} class="help context-dialog" aria-labelledby="context-title" onClose={close}>
      <header>
        <h2 id="context-title">Replace or switch context</h2>
        <button type="button" class="ghost" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void apply(new FormData(event.currentTarget));
        }}
      >
        <div class="chips" role="group" aria-label="Action">
          {(Object.keys(WAYS) as Way[]).map((each) => (
            <button
              key={each}
              type="button"
              class="chip"
              aria-pressed={way.value === each}
              onClick={() => {
                way.value = each;
                problem.value = undefined;
              }}
            >
              {WAYS[each].title}
            </button>
          ))}
        </div>
        <p class="hint">{WAYS[way.value].hint}</p>
        <label>
          {WAYS[way.value].lane}
          <input
            key={way.value}
            name="lane"
            list="lanes"
            defaultValue={way.value === "replace" ? active : ""}
            required
          />
        </label>
        <datalist id="lanes">
          {lanes.map((lane) => (
            <option key={lane} value={lane} />
          ))}
        </datalist>
        {way.value === "branch" && (
          <label>
            At entry
            <input name="atSeq" type="number" min={-1} defaultValue={String(thread.log.rev.value - 1)} required />
          </label>
        )}
        {way.value === "replace" && (
          <>
            <label>
              System prompt, if it changes
              <textarea name="systemPrompt" rows={2} />
            </label>
            <label>
              Messages: a JSON list, or plain text as the user's
              <textarea name="messages" rows={4} placeholder='[{ "role": "user", "content": "…" }]' />
            </label>
          </>
        )}
        {problem.value && (
          <p class="dialog-problem" role="alert">
            {problem.value.message} <code>{problem.value.code}</code>
          </p>
        )}
        <button type="submit" class="primary">
          {WAYS[way.value].title}
        </button>
      </form>
    </dialog>
  );
}

function operationOf(way: Way, text: (name: string) => string, active: string): JsonObject {
  if (way === "switch") return { type: "switch", reason: "manual" };
  if (way === "branch") return { type: "switch", reason: "manual", from: active, atSeq: Number(text("atSeq")) };
  const systemPrompt = text("systemPrompt");
  const entries = messagesIn(text("messages"));
  const resultContext = { id: newId(), entries, ...(systemPrompt !== "" && { systemPrompt }) };
  return { type: "replace", reason: "manual", resultContext };
}

/** Browsers have `crypto.randomUUID` only in a page over TLS or of this machine. */
function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("");
}

function messagesIn(text: string): JsonValue[] {
  if (text === "") return [];
  if (!text.startsWith("[")) return [{ role: "user", content: text }];
  try {
    return JSON.parse(text) as JsonValue[]; // the server checks the elements of the list
  } catch (error) {
    throw new ApiError("not_json", `The messages are not a JSON list: ${problemOf(error).message}.`, 0);
  }
}
