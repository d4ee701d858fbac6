import type { JsonObject } from "heddle";
import { useEffect } from "preact/hooks";
import { lineOf } from "../parts/entry-line.ts";
import { moment, shortId } from "../parts/format.ts";
import { Icon } from "../parts/icon.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { Loading } from "../parts/states.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { hrefOf } from "../state/route.ts";
import { fork, inspected } from "../state/studio.ts";
import { attempt, showToast } from "../state/toasts.ts";
import { panels } from "./panels.ts";

/** A side panel that shows one entry with all its fields. */
export function Inspector({ thread }: { readonly thread: OpenThread }) {
  const seq = inspected.value?.seq;
  return (
    <aside class="inspector" aria-label="Inspector">
      <header>
        <h2>{seq === undefined ? "Inspector" : `Entry #${seq}`}</h2>
        <span class="spacer" />
        {seq !== undefined && (
          <>
            <button
              type="button"
              class="ghost"
              aria-label="Entry before"
              disabled={seq <= 0}
              onClick={() => (inspected.value = { seq: seq - 1 })}
            >
              <Icon name="left" />
            </button>
            <button
              type="button"
              class="ghost"
              aria-label="Entry after"
              disabled={seq >= thread.log.rev.value - 1}
              onClick={() => (inspected.value = { seq: seq + 1 })}
            >
              <Icon name="right" />
            </button>
          </>
        )}
        <button
          type="button"
          class="ghost"
          aria-label="Close the inspector"
          onClick={() => (panels.inspector.value = false)}
        >
          <Icon name="close" />
        </button>
      </header>
      {seq === undefined ? <About thread={thread} /> : <EntryFacts thread={thread} seq={seq} />}
    </aside>
  );
}

function About({ thread }: { readonly thread: OpenThread }) {
  const detail = thread.detail.value;
  if (detail.state !== "there") return <p class="hint">Choose an entry to see all of it.</p>;
  const { id, createdAt, lanes, activeLane, agent, parentThreadId, forkSeq, forks } = detail.value;
  return (
    <div class="inspector-body">
      <p class="hint">Choose an entry to see all of it.</p>
      <dl class="facts">
        <Fact name="thread">{id}</Fact>
        <Fact name="created">{moment(createdAt)}</Fact>
        <Fact name="entries">{thread.log.rev.value}</Fact>
        <Fact name="lanes">
          {lanes.map((lane) => (lane === activeLane ? `${lane} (active)` : lane)).join(", ") || "default"}
        </Fact>
        {agent && <Fact name="agent">{agent}</Fact>}
        {parentThreadId && (
          <Fact name="fork of">
            <a
              href={hrefOf({
                threadId: parentThreadId,
                tab: "timeline",
                ...(forkSeq !== undefined && { seq: forkSeq }),
              })}
            >
              {shortId(parentThreadId)} at #{forkSeq}
            </a>
          </Fact>
        )}
        {forks.map((each) => (
          <Fact key={each.id} name="fork">
            <a href={hrefOf({ threadId: each.id })}>
              {shortId(each.id)} at #{each.forkSeq}
            </a>
          </Fact>
        ))}
      </dl>
    </div>
  );
}

function EntryFacts({ thread, seq }: { readonly thread: OpenThread; readonly seq: number }) {
  useEffect(() => void thread.log.ensure(seq, seq).catch(() => undefined), [seq]);
  void thread.log.version.value;
  const entry = thread.log.get(seq);
  if (entry === undefined) return <Loading what={`entry ${seq}`} />;
  const { kind, at, id, refs, payload } = entry;
  const line = lineOf(entry);
  const { act } = thread.source;
  const detail = thread.detail.value;
  const forks = detail.state === "there" ? detail.value.forks.filter(({ forkSeq }) => forkSeq === seq) : [];
  const callId = refs.callId === undefined ? undefined : String(refs.callId);
  return (
    <div class="inspector-body">
      <p>
        <span class={`kind tone-${line.tone}`}>{line.label}</span> <code>{kind}</code>
      </p>
      <div class="inspector-acts">
        <a class="button" href={hrefOf({ threadId: thread.id, tab: "timeline", seq })}>
          in the timeline
        </a>
        <a class="button" href={hrefOf({ threadId: thread.id, tab: "what-if", seq })}>
          what if, here
        </a>
        {callId !== undefined && (
          <a class="button" href={hrefOf({ threadId: thread.id, callId })}>
            context of the call
          </a>
        )}
        {act && (
          <>
            <button type="button" onClick={() => void fork(seq)}>
              fork from here
            </button>
            <button
              type="button"
              onClick={() =>
                void attempt(() => act.summarize(thread.id, { toSeq: seq })).then(
                  (made) => made && showToast(`Summarized in entry #${made.seq}.`),
                )
              }
            >
              summarize up to here
            </button>
          </>
        )}
      </div>
      <dl class="facts">
        <Fact name="at">{moment(at)}</Fact>
        <Fact name="id">{id}</Fact>
        {Object.entries(refs).map(([name, value]) => (
          <Fact key={name} name={name}>
            {String(value)}
          </Fact>
        ))}
        {forks.map((each) => (
          <Fact key={each.id} name="fork">
            <a href={hrefOf({ threadId: each.id })}>{shortId(each.id)}</a>
          </Fact>
        ))}
      </dl>
      <JsonView value={payload as JsonObject} label={`Payload of entry ${seq}`} />
    </div>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: preact.ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
