import { useSignal } from "@preact/signals";
import { settingLine } from "../../src/studio/setting-line.ts";
import type { CallDetail } from "../data/contract.ts";
import { BudgetBar } from "../parts/budget-bar.tsx";
import { count, moment, shortId } from "../parts/format.ts";
import { JsonView } from "../parts/json-view.tsx";
import { TabBar } from "../parts/tab-bar.tsx";
import type { OpenThread } from "../state/open-thread.ts";
import { hrefOf } from "../state/route.ts";
import { DiffView } from "./diff-view.tsx";
import { EntriesColumn } from "./entries-column.tsx";
import type { Highlight } from "./highlight.ts";
import { MessagesColumn } from "./messages-column.tsx";
import { WireView } from "./wire-view.tsx";

type Face = "messages" | "diff" | "tools" | "wire" | "policy";
/** The tab selected for the last shown call. The next call that the user opens starts with the same tab. */
let lastFace: Face = "messages";

export function CallPage({ thread, detail }: { readonly thread: OpenThread; readonly detail: CallDetail }) {
  const face = useSignal<Face>(lastFace);
  const pointed = useSignal<Highlight>({});
  const faces = [
    { id: "messages", title: `Messages ${detail.messages.length}` },
    { id: "diff", title: "Diff" },
    { id: "tools", title: `Tools ${detail.toolSpec.length}` },
    { id: "wire", title: "Wire" },
    { id: "policy", title: "Policy & settings" },
  ] as const;
  return (
    <div class="call-page">
      <CallHead thread={thread} detail={detail} />
      {detail.meta && <BudgetBar budget={detail.meta.budget} label="Budget of this call" />}
      <TabBar
        label="Faces of the call"
        tabs={faces}
        selected={face.value}
        onSelect={(next) => {
          lastFace = next;
          face.value = next;
        }}
      />
      <div class="face" role="tabpanel" aria-label={faces.find(({ id }) => id === face.value)?.title}>
        {face.value === "messages" && (
          <div class="call-columns">
            <MessagesColumn detail={detail} pointed={pointed} />
            <EntriesColumn thread={thread} detail={detail} pointed={pointed} />
          </div>
        )}
        {face.value === "diff" && <DiffView thread={thread} detail={detail} />}
        {face.value === "tools" && <ToolSpecs detail={detail} />}
        {face.value === "wire" && <WireView detail={detail} />}
        {face.value === "policy" && (
          <div class="two-json">
            <section>
              <h3>Policy</h3>
              <JsonView value={detail.policy ?? {}} label="Policy of the call" />
            </section>
            <section>
              <h3>Set in the thread</h3>
              <HeldSettings thread={thread} detail={detail} />
              <h3>Settings</h3>
              <JsonView value={detail.settings ?? {}} label="Settings of the call" />
              <h3>Meta</h3>
              <JsonView value={detail.meta ?? {}} label="Meta of the projection" />
            </section>
          </div>
        )}
      </div>
    </div>
  );
}

/** The settings of the thread that held for this call, each with its author. */
function HeldSettings({ thread, detail }: { readonly thread: OpenThread; readonly detail: CallDetail }) {
  if (detail.heldSettings.length === 0) return <p class="hint">Nothing was set: the call has the agent's settings.</p>;
  return (
    <ul class="held-settings" aria-label="Settings that held">
      {detail.heldSettings.map((entry) => (
        <li key={entry.id}>
          <a href={hrefOf({ threadId: thread.id, tab: "timeline", seq: entry.seq })}>entry #{entry.seq}</a>{" "}
          {settingLine(entry)}
        </li>
      ))}
    </ul>
  );
}

function CallHead({ thread, detail }: { readonly thread: OpenThread; readonly detail: CallDetail }) {
  const { call, proven, problem, record } = detail;
  return (
    <header class="call-head">
      <span
        class={proven ? "badge proven" : "badge unproven"}
        title={proven ? `Fingerprint ${record.fingerprint}` : problem?.message}
      >
        {proven ? "✓ proven" : "not proven"}
      </span>
      <span>
        <b>{call.model ?? "model"}</b>
        {call.iteration !== undefined && ` · step ${call.iteration}`} ·{" "}
        {call.finishReason ?? call.error?.code ?? "no answer"} · {moment(call.at)}
      </span>
      <a href={hrefOf({ threadId: thread.id, tab: "timeline", seq: call.seq })} title={call.callId}>
        entry #{call.seq} <span class="dim">{shortId(call.callId)}</span>
      </a>
      <a href={hrefOf({ threadId: thread.id, tab: "what-if", seq: call.basisLastSeq })}>what if…</a>
      <UsageLine detail={detail} />
      {problem && !proven && (
        <p class="call-problem" role="status">
          {problem.message} <code>{problem.code}</code>
        </p>
      )}
      {call.error && (
        <p class="call-problem" role="status">
          {call.error.message} <code>{call.error.code}</code>
        </p>
      )}
    </header>
  );
}

/** Shows two token counts of the call: Heddle's estimate, and the usage that the provider reported. */
function UsageLine({ detail: { call, previous, messages } }: { readonly detail: CallDetail }) {
  const { inputTokens, outputTokens, cacheReadTokens, cacheWriteTokens, reasoningTokens } = call.usage ?? {};
  const off = inputTokens === undefined ? undefined : (call.estimatedTokens / Math.max(1, inputTokens) - 1) * 100;
  return (
    <dl class="usage">
      <Fact name="estimated" value={call.estimatedTokens} />
      <Fact
        name="reported"
        value={inputTokens}
        {...(off !== undefined && { note: `${off > 0 ? "+" : ""}${off.toFixed(0)} %` })}
      />
      <Fact name="cache read" value={cacheReadTokens} />
      <Fact name="cache write" value={cacheWriteTokens} />
      <Fact name="output" value={outputTokens} />
      {reasoningTokens !== undefined && <Fact name="thinking" value={reasoningTokens} />}
      {previous && (
        <div>
          <dt>as in the call before</dt>
          <dd>
            {count(previous.stablePrefix)} of {count(messages.length)} messages{" "}
            <button type="button" class="to-new" onClick={showNew}>
              show what is new
            </button>
          </dd>
        </div>
      )}
    </dl>
  );
}

function showNew(): void {
  document.querySelector(".prefix-mark")?.scrollIntoView({ block: "start" });
}

function Fact({
  name,
  value,
  note,
}: {
  readonly name: string;
  readonly value: number | undefined;
  readonly note?: string;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value === undefined ? "–" : count(value)}
        {note && <small title="How far the estimate is off"> {note}</small>}
      </dd>
    </div>
  );
}

function ToolSpecs({ detail }: { readonly detail: CallDetail }) {
  if (detail.toolSpec.length === 0) return <p class="hint">The model was offered no tools.</p>;
  return (
    <div class="specs">
      {detail.toolSpec.map((spec) => (
        <details key={spec.name}>
          <summary>
            <b>{spec.name}</b> {spec.description}
          </summary>
          <JsonView value={spec.inputSchema} label={`Input of ${spec.name}`} />
        </details>
      ))}
    </div>
  );
}
