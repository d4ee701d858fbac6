import { type Signal, useSignal } from "@preact/signals";
import { ContextPolicy, type ContextPolicyInput, type Thread } from "heddle";
import { useEffect } from "preact/hooks";
import { changesOf } from "../../src/studio/call-diff.ts";
import { ChangeList } from "../calls/diff-view.tsx";
import type { CallDetail, CallRow } from "../data/contract.ts";
import { BudgetBar } from "../parts/budget-bar.tsx";
import { count, plural } from "../parts/format.ts";
import { LongList } from "../parts/long-content.tsx";
import { MessageCard } from "../parts/message-card.tsx";
import { Empty, Loading, Problem } from "../parts/states.tsx";
import { useLoaded } from "../state/load-state.ts";
import type { OpenThread } from "../state/open-thread.ts";
import { go, hrefOf, route } from "../state/route.ts";
import { useOutcome } from "./outcome.ts";
import { Plot } from "./plot.tsx";
import { PolicyForm } from "./policy-form.tsx";
import { type Outcome, sharedPrefix } from "./what-if.ts";

/** Compares what a recorded call sent with what the model would get at another entry or with another policy. The reader chooses both. */
export function WhatIfView({ thread }: { readonly thread: OpenThread }) {
  const detail = thread.detail.value;
  const calls = thread.calls.value;
  if (detail.state === "loading" || calls.state === "loading") return <Loading what="the thread" />;
  if (detail.state === "failed") return <Problem {...detail} retry={() => void thread.refresh()} />;
  if (calls.state === "failed") return <Problem {...calls} retry={() => void thread.refreshCalls()} />;
  if (thread.log.rev.value === 0) return <Empty title="Nothing has happened yet, so there is no context to show" />;
  return <Laboratory thread={thread} calls={calls.value} />;
}

function Laboratory({ thread, calls }: { readonly thread: OpenThread; readonly calls: readonly CallRow[] }) {
  const last = thread.log.rev.value - 1;
  const seq = Math.min(last, route.value.seq ?? calls[0]?.basisLastSeq ?? last);
  const real = callAt(calls, seq);
  const tail = useSignal<Thread | undefined>(undefined);
  const realDetail = useLoaded(real?.callId ?? "none", async () =>
    real ? await thread.callDetail(real.callId) : undefined,
  ).value;
  return (
    <section class="what-if" aria-label="What-if">
      <Plot thread={thread} calls={calls} seq={seq} />
      <div class="slider">
        <label for="seq">
          After entry <b>#{seq}</b>
        </label>
        <input
          id="seq"
          type="range"
          min={0}
          max={last}
          value={seq}
          onInput={(event) =>
            go({ threadId: thread.id, tab: "what-if", seq: event.currentTarget.valueAsNumber }, "replace")
          }
        />
        <span class="dim">
          {real === undefined ? (
            "no model call yet"
          ) : (
            <>
              beside{" "}
              <a href={hrefOf({ threadId: thread.id, callId: real.callId })}>
                call {calls.length - calls.indexOf(real)}
              </a>
              , made after #{real.basisLastSeq}
            </>
          )}
        </span>
      </div>
      {realDetail.state === "loading" && <Loading what="the call" />}
      {realDetail.state !== "loading" && (
        <Beside
          key={real?.callId}
          thread={thread}
          tail={tail}
          seq={seq}
          real={realDetail.state === "there" ? realDetail.value : undefined}
        />
      )}
    </section>
  );
}

/** Returns the newest call that was made before or at this entry. `calls` is sorted newest first. */
function callAt(calls: readonly CallRow[], seq: number): CallRow | undefined {
  return calls.find(({ basisLastSeq }) => basisLastSeq <= seq) ?? calls.at(-1);
}

/** The user's changes to the policy, kept while the slider moves to other calls. */
let kept: ContextPolicyInput = {};

interface BesideProps {
  readonly thread: OpenThread;
  /** The part of the thread that was loaded. */
  readonly tail: Signal<Thread | undefined>;
  readonly seq: number;
  readonly real: CallDetail | undefined;
}

function Beside({ thread, tail, seq, real }: BesideProps) {
  const base = ContextPolicy.create(real?.policy);
  const draft = useSignal<ContextPolicyInput>({ ...base, ...kept });
  useEffect(() => {
    kept = changedFrom(base, draft.value);
  }, [draft.value]);
  const { outcome, problem, isOld } = useOutcome(thread, tail, { seq, policy: draft.value, real });
  return (
    <div class="lab">
      <PolicyForm base={base} draft={draft} />
      <div class={isOld ? "outcome old" : "outcome"} aria-live="polite" aria-busy={isOld}>
        {problem && <Problem {...problem} />}
        {outcome === undefined && !problem && <Loading what="the entries" />}
        {outcome?.state === "refused" && (
          <div class="refused">
            <p>
              <b>Heddle would refuse this call</b> <code>{outcome.code}</code>
            </p>
            <p>{outcome.message}</p>
          </div>
        )}
        {outcome?.state === "shown" && <Result outcome={outcome} real={real} />}
      </div>
    </div>
  );
}

function changedFrom(base: ContextPolicyInput, now: ContextPolicyInput): ContextPolicyInput {
  const before = base as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(now).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key])),
  );
}

const isSame = (real: CallDetail, { messages }: { readonly messages: readonly unknown[] }) =>
  JSON.stringify(real.messages) === JSON.stringify(messages);

interface ResultProps {
  readonly outcome: Extract<Outcome, { state: "shown" }>;
  readonly real: CallDetail | undefined;
}

function Result({ outcome: { shown, ms }, real }: ResultProps) {
  const { meta } = shown;
  return (
    <>
      <div class="versus">
        <section>
          <h3>
            What if <span class="dim">projected here in {ms.toFixed(1)} ms</span>
          </h3>
          <p class="figures">
            <b>{count(meta.estimatedTokens)}</b> tokens, {plural(meta.messagesIncluded, "message")},{" "}
            {plural(meta.entriesIncluded, "entry", "entries")}
            {meta.truncated && <span class="pill warn">cut before #{meta.cutSeq}</span>}
            {meta.floorViolated && <span class="pill warn">fewer turns than asked to keep</span>}
            {meta.summaryUsed && <span class="pill">summary used</span>}
            {meta.needsSummary && <span class="pill">asks for a summary: {meta.needsSummaryReason}</span>}
          </p>
          <BudgetBar budget={meta.budget} label="Budget, what if" />
        </section>
        {real?.meta && (
          <section>
            <h3>Really sent</h3>
            <p class="figures">
              <b>{count(real.meta.estimatedTokens)}</b> tokens, {plural(real.meta.messagesIncluded, "message")},{" "}
              {plural(real.meta.entriesIncluded, "entry", "entries")}
            </p>
            <BudgetBar budget={real.meta.budget} label="Budget, really sent" />
          </section>
        )}
      </div>
      {real && (
        <p class="hint">
          {isSame(real, shown)
            ? "Exactly what was sent: the same messages, byte for byte."
            : `${plural(sharedPrefix(real, shown), "message")} at the start would be the same. These could come from the provider's cache.`}
        </p>
      )}
      {real ? (
        <ChangeList
          changes={changesOf(real, shown)}
          before={real}
          after={shown}
          words={{ removed: "really sent only", added: "what-if only" }}
        />
      ) : (
        <div class="changes">
          <LongList
            length={shown.messages.length}
            item={(index) => {
              const message = shown.messages[index];
              return (
                message && (
                  <MessageCard key={index} message={message} index={index} provenance={shown.provenance[index]} />
                )
              );
            }}
          />
        </div>
      )}
    </>
  );
}
