import { freezeJson } from "../../thread/json.ts";
import type { Message } from "../../thread/message.ts";
import { type Block, firstItem } from "../history/block.ts";
import type { Budget, Projection, ProjectionMeta, Provenance, View } from "../projection.ts";
import type { Run } from "../run/run.ts";
import { tailTooShort } from "../run/tail-too-short.ts";
import { boundaryIsLoaded, summaryNeed } from "./need-summary.ts";

/** The projection that a run results in. */
export function projectionOf(run: Run): Projection {
  const { chain, provenance } = run.assembly;
  const messages: readonly Message[] = chain.messages;
  return Object.freeze({ messages, toolSpec: run.settings.tools, provenance, meta: metaOf(run) });
}

function metaOf(run: Run): ProjectionMeta {
  const { engine, settings, thread, pending, window, assembly, front } = run;
  const { messages, fingerprint } = assembly.chain;
  const start = engine.history.blocks[window.start];
  const truncated = window.start > window.first;
  const open = isOpen(run);
  const budget = budgetOf(run);
  const total = thread.rev + pending.length;
  const { first } = window;
  const question = { truncated, open, first, start: window.start, total, measure: run.measure };
  if (!boundaryIsLoaded(engine, settings, question)) throw tailTooShort(thread);
  return Object.freeze({
    basisRev: thread.rev,
    basisLastSeq: thread.lastSeq,
    pendingCount: pending.length,
    lane: engine.lane,
    truncated,
    ...(truncated && start && { cutSeq: start.seq }),
    estimatedTokens: budget.system + budget.tools + budget.summary + budget.history + budget.pending,
    summaryUsed: front.summary !== undefined,
    entriesIncluded: assembly.entries,
    messagesIncluded: messages.length,
    entriesTotal: thread.rev,
    open,
    ...summaryNeed(engine, settings, question),
    budget,
    floorViolated: truncated && window.start > window.floor,
    repaired: Object.freeze({ calls: Object.freeze(assembly.repaired), standIns: assembly.standIns }),
    dropped: Object.freeze(droppedSince(run, start)),
    cleared: Object.freeze(assembly.cleared),
    thinkingDropped: Object.freeze(assembly.thinkingDropped),
    policyHash: settings.policyHash,
    projector: settings.rules,
    fingerprint,
    view: viewOf(run, start),
  });
}

function viewOf({ engine, assembly, shrunk }: Run, start: Block | undefined): View {
  const { summary } = engine.history.coverage;
  const first = start && firstItem(start);
  return Object.freeze({
    ...(first && { startSeq: first.seq }),
    ...(first?.index !== undefined && { startItem: first.index }),
    headSeqs: Object.freeze(assembly.headSeqs),
    ...(summary && { summarySeq: summary.seq }),
    cleared: Object.freeze(assembly.cleared),
    thinkingDropped: Object.freeze(assembly.thinkingDropped),
    ...(assembly.thinkingStale.length > 0 && { thinkingStale: Object.freeze(assembly.thinkingStale) }),
    ...(shrunk && { shrunk: freezeJson(shrunk.results) }),
  });
}

/** Whether the model is to answer: the last message is not the assistant's. */
function isOpen({ engine, window, assembly }: Run): boolean {
  const hasHistory = window.start < engine.history.blocks.length || assembly.headSeqs.length > 0;
  return hasHistory && assembly.chain.messages.at(-1)?.role !== "assistant";
}

function budgetOf({ settings, assembly, front, room }: Run): Budget {
  const { maxInputTokens, reserveOutputTokens } = settings.policy;
  const pending = tokensIn(assembly.provenance, "pending");
  return Object.freeze({
    maxInputTokens,
    reserveOutputTokens,
    system: front.system?.tokens ?? 0,
    tools: settings.toolTokens,
    summary: front.summary?.tokens ?? 0,
    pending,
    available: room - pending,
    history: tokensIn(assembly.provenance, "history"),
  });
}

function tokensIn(provenance: readonly Provenance[], segment: Provenance["segment"]): number {
  let sum = 0;
  for (const each of provenance) if (each.segment === segment) sum += each.tokens;
  return sum;
}

/** Entries at or after the window's start that are not shown. */
function droppedSince({ engine, window, thread }: Run, start: Block | undefined): number[] {
  const { dropped, late, coverage } = engine.history;
  const open = start?.open ?? coverage.edge + 1;
  const seqs: number[] = [];
  for (let index = dropped.length - 1; index >= 0 && (dropped[index]?.seq ?? -1) >= open; index--) {
    seqs.push(dropped[index]?.seq ?? -1);
  }
  for (let index = late.length - 1; index >= 0 && (late[index]?.seq ?? -1) >= open; index--) {
    if ((late[index]?.block ?? window.start) < window.start) seqs.push(late[index]?.seq ?? -1);
  }
  return seqs.filter((seq) => seq < thread.rev).sort((a, b) => a - b);
}
