import { SORTS } from "../../src/studio/threads/sorts.ts";
import type { Filtering } from "./filtering.ts";

const WORDS = {
  messages: "messages",
  thinking: "thinking",
  calls: "calls",
  results: "results",
  summaries: "summaries",
  context: "context operations",
  steering: "steering",
  errors: "errors",
} as const;

interface Props {
  readonly filtering: Filtering;
  readonly lanes: readonly string[];
  readonly onChange: (filtering: Filtering) => void;
}

/** Selects the entries to show. The selection is in the address. */
export function FilterBar({ filtering, lanes, onChange }: Props) {
  const { kinds, lane } = filtering;
  const others = kinds.filter((kind) => !(kind in WORDS));
  return (
    <div class="filter-bar">
      <div class="chips" role="group" aria-label="Show only">
        <button
          type="button"
          class="chip"
          aria-pressed={kinds.length === 0}
          onClick={() => onChange({ ...filtering, kinds: [] })}
        >
          all
        </button>
        {SORTS.map((sort) => (
          <Chip key={sort} {...{ filtering, onChange }} kind={sort} text={WORDS[sort]} />
        ))}
        {others.map((kind) => (
          <Chip key={kind} {...{ filtering, onChange }} kind={kind} text={kind} />
        ))}
      </div>
      {(lanes.length > 1 || lane !== undefined) && (
        <label class="lane-choice">
          Lane{" "}
          <select
            value={lane ?? ""}
            onChange={({ currentTarget: { value } }) =>
              onChange({ ...filtering, lane: value === "" ? undefined : value })
            }
          >
            <option value="">any</option>
            {[...new Set([...lanes, ...(lane === undefined ? [] : [lane])])].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}

interface ChipProps extends Omit<Props, "lanes"> {
  readonly kind: string;
  readonly text: string;
}

function Chip({ filtering, onChange, kind, text }: ChipProps) {
  const { kinds } = filtering;
  const isOn = kinds.includes(kind);
  return (
    <button
      type="button"
      class="chip"
      aria-pressed={isOn}
      onClick={() => onChange({ ...filtering, kinds: isOn ? kinds.filter((one) => one !== kind) : [...kinds, kind] })}
    >
      {text}
    </button>
  );
}
