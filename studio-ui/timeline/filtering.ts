import { go, type Route, route } from "../state/route.ts";

/** The filter of the timeline. */
export interface Filtering {
  readonly threadId: string;
  readonly kinds: readonly string[];
  readonly lane: string | undefined;
}

export function filteringOf(threadId: string, { kinds = [], lane }: Route): Filtering {
  return { threadId, kinds, lane };
}

export const isFiltering = ({ kinds, lane }: Filtering): boolean => kinds.length > 0 || lane !== undefined;

/** Opens the same entry with another filter. */
export function refilter({ threadId, kinds, lane }: Filtering): void {
  const { seq } = route.peek();
  go(
    { threadId, tab: "timeline", ...(seq !== undefined && { seq }), kinds, ...(lane !== undefined && { lane }) },
    "replace",
  );
}

/** Opens another entry with the same filter. */
export function goToEntry({ threadId, kinds, lane }: Filtering, seq: number): void {
  go({ threadId, tab: "timeline", seq, kinds, ...(lane !== undefined && { lane }) }, "replace");
}
