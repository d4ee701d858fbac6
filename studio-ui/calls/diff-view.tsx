import { useSignal } from "@preact/signals";
import { changesOf, firstChange } from "../../src/studio/call-diff.ts";
import type { CallDetail, MessageChange } from "../data/contract.ts";
import { plural } from "../parts/format.ts";
import { LongList } from "../parts/long-content.tsx";
import { MessageCard } from "../parts/message-card.tsx";
import { Loading, Problem } from "../parts/states.tsx";
import { useLoaded } from "../state/load-state.ts";
import type { OpenThread } from "../state/open-thread.ts";

/** Compares the messages of this call with another call. Default: the call before this one. */
export function DiffView({ thread, detail }: { readonly thread: OpenThread; readonly detail: CallDetail }) {
  const calls = thread.calls.value.state === "there" ? thread.calls.value.value : [];
  const at = calls.findIndex(({ callId }) => callId === detail.call.callId);
  const other = useSignal(detail.previous?.callId ?? calls[at + 1]?.callId);
  if (other.value === undefined)
    return <p class="hint">This is the first call of the thread: there is nothing to compare it with.</p>;
  return (
    <div class="diff">
      <p class="diff-with">
        <label>
          Compared with{" "}
          <select value={other.value} onChange={(event) => (other.value = event.currentTarget.value)}>
            {calls.map((call, index) =>
              call.callId === detail.call.callId ? null : (
                <option key={call.callId} value={call.callId}>
                  call {calls.length - index}, entry #{call.seq}
                  {index === at + 1 ? " (the one before)" : ""}
                </option>
              ),
            )}
          </select>
        </label>
      </p>
      <Compared thread={thread} detail={detail} other={other.value} />
    </div>
  );
}

function Compared({
  thread,
  detail,
  other,
}: {
  readonly thread: OpenThread;
  readonly detail: CallDetail;
  readonly other: string;
}) {
  const loaded = useLoaded(`${detail.call.callId} ${other}`, () => thread.callDetail(other)).value;
  if (loaded.state === "loading") return <Loading what="the other call" />;
  if (loaded.state === "failed") return <Problem {...loaded} />;
  const before = loaded.value;
  const isPrevious = detail.previous?.callId === other;
  const cause = (isPrevious ? detail.previous?.firstChange : undefined) ?? firstChange(before, detail);
  return (
    <>
      <p class={cause ? "cause moved" : "cause"} role="status">
        {cause ? (
          <>
            <b>{cause.rule.replaceAll("_", " ")}</b> {cause.why} The common prefix ends at message {cause.index}.
          </>
        ) : (
          "Everything sent before was sent again, byte for byte: the provider's cache can be read to its end."
        )}
      </p>
      <ChangeList changes={changesOf(before, detail)} before={before} after={detail} />
    </>
  );
}

type Side = Pick<CallDetail, "messages" | "provenance">;

interface ChangeListProps {
  readonly changes: readonly MessageChange[];
  readonly before: Side;
  readonly after: Side;
  /** Labels for a message that exists in only one of the two calls. */
  readonly words?: { readonly removed: string; readonly added: string } | undefined;
}

export function ChangeList({ changes, before, after, words }: ChangeListProps) {
  return (
    <div class="changes">
      {grouped(changes).map((group) => {
        const [first] = group;
        if (first?.kind === "same") {
          return (
            <p key={`same ${first.b}`} class="unchanged">
              {plural(group.length, "message")} unchanged
            </p>
          );
        }
        return (
          <LongList
            key={`${first?.a} ${first?.b}`}
            length={group.length}
            item={(index) => <OneChange change={group[index]} before={before} after={after} words={words} />}
          />
        );
      })}
    </div>
  );
}

interface OneChangeProps extends Omit<ChangeListProps, "changes"> {
  readonly change: MessageChange | undefined;
}

function OneChange({ change, before, after, words }: OneChangeProps) {
  if (change === undefined) return null;
  const { kind, a, b } = change;
  return (
    <div class={`change ${kind}`}>
      {a !== undefined && (
        <Card side={before} index={a} mark={kind === "changed" ? "removed" : kind} text={words?.removed} />
      )}
      {b !== undefined && (
        <Card side={after} index={b} mark={kind === "changed" ? "added" : kind} text={words?.added} />
      )}
    </div>
  );
}

interface CardProps {
  readonly side: Side;
  readonly index: number;
  readonly mark: MessageChange["kind"];
  readonly text: string | undefined;
}

function Card({ side, index, mark, text }: CardProps) {
  const open = useSignal(false);
  const message = side.messages[index];
  if (message === undefined) return null;
  return (
    <MessageCard
      message={message}
      index={index}
      provenance={side.provenance[index]}
      mark={mark}
      markText={text}
      isOpen={open.value}
      onOpen={() => (open.value = !open.value)}
    />
  );
}

/** Groups adjacent unchanged messages, so that each group is drawn as one line. */
function grouped(changes: readonly MessageChange[]): MessageChange[][] {
  const groups: MessageChange[][] = [];
  for (const change of changes) {
    const last = groups.at(-1);
    if (last !== undefined && (last[0]?.kind === "same") === (change.kind === "same")) last.push(change);
    else groups.push([change]);
  }
  return groups;
}
