import type { Entry } from "heddle";
import { laneOf, lineOf } from "../parts/entry-line.ts";
import { shortId, time } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { go } from "../state/route.ts";

export function Blank({ seq }: { readonly seq: number }) {
  return (
    <div class="entry-row blank">
      <span class="seq">{seq}</span>
      <span class="skeleton" />
    </div>
  );
}

interface RowProps {
  readonly entry: Entry;
  readonly before: Entry | undefined;
  readonly forks: readonly { readonly id: string }[];
  readonly isInherited: boolean;
}

/** One entry as one line. */
export function Row({ entry, before, forks, isInherited }: RowProps) {
  const line = lineOf(entry);
  const lane = laneOf(entry);
  const isNewRequest = before !== undefined && before.refs.requestId !== entry.refs.requestId;
  const classes = ["entry-row", line.turn && "opens-turn", isNewRequest && "opens-request", isInherited && "inherited"];
  return (
    <div class={classes.filter(Boolean).join(" ")}>
      <span class="seq">{entry.seq}</span>
      <time>{time(entry.at)}</time>
      <span class={`rail tone-${line.tone}`} aria-hidden="true" />
      <span class={`kind tone-${line.tone}`}>{line.label}</span>
      <span class="text">{line.text}</span>
      {lane !== undefined && lane !== "default" && <span class="pill lane">{lane}</span>}
      {forks.map(({ id }) => (
        // A list box cannot contain links for the keyboard. The inspector has them.
        <span key={id} class="pill fork" title={`Fork ${id}`} onClick={() => go({ threadId: id })}>
          <Icon name="fork" size={12} /> {shortId(id)}
        </span>
      ))}
    </div>
  );
}
