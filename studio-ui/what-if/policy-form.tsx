import type { Signal } from "@preact/signals";
import { ContextPolicy, type ContextPolicyInput } from "heddle";
import { problemOf } from "../data/source.ts";

type Complete = ReturnType<typeof ContextPolicy.create>;

interface Field {
  readonly path: string;
  readonly label: string;
  readonly hint: string;
  readonly choices?: readonly string[];
  readonly step?: number;
}

const GROUPS: readonly { readonly title: string; readonly fields: readonly Field[] }[] = [
  {
    title: "Budget",
    fields: [
      { path: "maxInputTokens", label: "Window", hint: "tokens for input and answer together" },
      { path: "reserveOutputTokens", label: "Reserve", hint: "kept free for the answer" },
      {
        path: "overflow",
        label: "When it does not fit",
        hint: "refuse, or shrink the newest results",
        choices: ["error", "shrink"],
      },
    ],
  },
  {
    title: "History",
    fields: [
      {
        path: "window.mode",
        label: "Window moves",
        hint: "in steps, or always the most that fits",
        choices: ["stable", "sliding"],
      },
      { path: "window.step", label: "Step", hint: "share of the input tokens", step: 0.05 },
      { path: "keepLastTurns", label: "Keep turns", hint: "ceilings leave these alone" },
      { path: "maxTurns", label: "Most turns", hint: "0 is none" },
      { path: "maxMessages", label: "Most messages", hint: "0 is none" },
    ],
  },
  {
    title: "Content",
    fields: [
      { path: "summarization", label: "Summaries", hint: "", choices: ["none", "use_existing", "request_new"] },
      { path: "summaryRole", label: "Summary's role", hint: "", choices: ["system", "user"] },
      { path: "thinking", label: "Thinking", hint: "", choices: ["auto", "keep", "drop"] },
      { path: "toolResults.keepLast", label: "Results kept", hint: "of the last exchanges; 0 is all" },
      { path: "toolResults.maxTokens", label: "Longest result", hint: "in tokens; 0 is any" },
    ],
  },
];

const PRESETS = {
  default: () => ContextPolicy.create(),
  "short context": () => ContextPolicy.shortContext(),
  "long context": () => ContextPolicy.longContext(),
  "tool focused": () => ContextPolicy.toolFocused(),
} as const;

interface Props {
  /** The policy of the recorded call. */
  readonly base: Complete;
  readonly draft: Signal<ContextPolicyInput>;
}

/** A form with every field of a policy. The values start as those of the recorded call. */
export function PolicyForm({ base, draft }: Props) {
  const refusal = refusalOf(draft.value);
  return (
    <form class="policy" aria-label="Policy" onSubmit={(event) => event.preventDefault()}>
      <div class="policy-presets">
        <label for="preset">Start from</label>
        <select
          id="preset"
          onChange={(event) => {
            const { value } = event.currentTarget;
            draft.value = value === "call" ? base : PRESETS[value as keyof typeof PRESETS](); // the options of the select element are these keys
          }}
        >
          <option value="call">the real call</option>
          {Object.keys(PRESETS).map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
        <button type="button" class="ghost" onClick={() => (draft.value = base)}>
          Undo all
        </button>
      </div>
      {GROUPS.map(({ title, fields }) => (
        <fieldset key={title}>
          <legend>{title}</legend>
          {fields.map((field) => (
            <PolicyField key={field.path} field={field} base={base} draft={draft} />
          ))}
        </fieldset>
      ))}
      <fieldset>
        <legend>System prompt</legend>
        <textarea
          aria-label="System prompt instead of the real one"
          rows={3}
          placeholder="As in the real call"
          value={draft.value.systemPrompt ?? ""}
          onInput={({ currentTarget: { value } }) => {
            const { systemPrompt: _, ...others } = draft.value;
            draft.value = value.trim() === "" ? others : { ...others, systemPrompt: value };
          }}
        />
      </fieldset>
      {refusal && (
        <p class="policy-refusal" role="alert">
          {refusal}
        </p>
      )}
    </form>
  );
}

function PolicyField({ field, base, draft }: { readonly field: Field } & Props) {
  const { path, label, hint, choices, step } = field;
  const id = `policy-${path}`;
  const now = read(draft.value, path);
  const was = read(base, path);
  const isChanged = now !== was;
  return (
    <div class={isChanged ? "policy-field changed" : "policy-field"}>
      <label for={id} title={hint}>
        {label}
      </label>
      {choices ? (
        <select
          id={id}
          value={String(now)}
          onChange={(event) => (draft.value = written(draft.value, path, event.currentTarget.value))}
        >
          {choices.map((choice) => (
            <option key={choice}>{choice}</option>
          ))}
        </select>
      ) : (
        <input
          id={id}
          type="number"
          min={0}
          step={step ?? 1}
          value={Number(now)}
          onInput={(event) => {
            const { valueAsNumber } = event.currentTarget;
            if (!Number.isNaN(valueAsNumber)) draft.value = written(draft.value, path, valueAsNumber);
          }}
        />
      )}
      <small>{isChanged ? `was ${was}` : hint}</small>
    </div>
  );
}

function read(policy: ContextPolicyInput, path: string): unknown {
  return path.split(".").reduce<unknown>((value, key) => (value as Record<string, unknown>)[key], policy);
}

function written(policy: ContextPolicyInput, path: string, value: string | number): ContextPolicyInput {
  const [first = "", second] = path.split(".");
  if (second === undefined) return { ...policy, [first]: value };
  return { ...policy, [first]: { ...(policy as Record<string, object>)[first], [second]: value } };
}

function refusalOf(policy: ContextPolicyInput): string | undefined {
  try {
    ContextPolicy.create(policy);
    return undefined;
  } catch (error) {
    return problemOf(error).message;
  }
}
