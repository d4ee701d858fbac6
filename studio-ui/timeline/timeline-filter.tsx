import { ENTRY_CATEGORIES } from "../../src/studio/entry-filter.ts";
import { go, type Route, route } from "../state/route.ts";

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
  readonly filtering: TimelineFilter;
  readonly lanes: readonly string[];
  readonly onChange: (filtering: TimelineFilter) => void;
}

/** Lets the user choose the kinds and the lane to show. The URL contains the choice. */
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
        {ENTRY_CATEGORIES.map((sort) => (
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

/** The thread and the filter of the timeline, as in the URL. */
export interface TimelineFilter {
  readonly threadId: string;
  readonly kinds: readonly string[];
  readonly lane: string | undefined;
}

export function filterFromRoute(threadId: string, { kinds = [], lane }: Route): TimelineFilter {
  return { threadId, kinds, lane };
}

export const hasFilter = ({ kinds, lane }: TimelineFilter): boolean => kinds.length > 0 || lane !== undefined;

/** Changes the filter and keeps the selected entry. */
export function setFilter({ threadId, kinds, lane }: TimelineFilter): void {
  const { seq } = route.peek();
  go(
    { threadId, tab: "timeline", ...(seq !== undefined && { seq }), kinds, ...(lane !== undefined && { lane }) },
    "replace",
  );
}

/** Selects another entry and keeps the filter. */
export function goToEntry({ threadId, kinds, lane }: TimelineFilter, seq: number): void {
  go({ threadId, tab: "timeline", seq, kinds, ...(lane !== undefined && { lane }) }, "replace");
}
