import {
  ContextPolicy,
  type ContextPolicyInput,
  calibrated,
  explain,
  heuristic,
  type JsonValue,
  type ProjectionInput,
  project,
  type Thread,
  type TokenCounter,
  type ToolSpec,
} from "heddle";
import { type CallEnvironment, type CallRecord, PROJECTORS } from "heddle/core";
import { commonStart } from "../../src/studio/call-diff.ts";
import { recordIn } from "./calls.ts";
import type { CallDetail, CallRow } from "./contract.ts";

type Blobs = { readonly [hash: string]: JsonValue };

/** Returns a token counter for the call. The page has no model-specific counters, so it estimates instead. */
function counterOf({ calibration }: Pick<CallRecord, "calibration">): TokenCounter {
  return calibration === 1 ? heuristic : calibrated(heuristic, calibration);
}

/** Returns the projection input that the call used, without the thread. */
export function inputOf(
  record: CallRecord,
  environment: CallEnvironment,
): Omit<ProjectionInput, "thread" | "policy" | "previous"> {
  return {
    system: environment.systemPrompt,
    tools: environment.tools as unknown as readonly ToolSpec[], // Heddle wrote the tools, so their shape is known
    lane: record.lane,
    model: record.model,
    tokenCounter: counterOf(record),
  };
}

/** Rebuilds the context of a call in the page. Compares its fingerprint with the recorded one. */
export function rebuildCall(thread: Thread, row: CallRow, before: CallRow | undefined, blobs: Blobs): CallDetail {
  const record = recordOf(thread, row);
  const detail = projected(thread, row, record, blobs);
  if (before === undefined) return detail;
  const earlier = projected(thread, before, recordOf(thread, before), blobs);
  return {
    ...detail,
    previous: { callId: before.callId, stablePrefix: commonStart(earlier.messages, detail.messages) },
  };
}

function recordOf(thread: Thread, { seq, callId }: CallRow): CallRecord {
  const entry = thread.at(seq);
  const record = entry && recordIn(entry);
  if (record === undefined) throw new Error(`The file records no model call ${callId}.`);
  return record;
}

function projected(thread: Thread, call: CallRow, record: CallRecord, blobs: Blobs): CallDetail {
  const policy = ContextPolicy.create((blobs[record.policy] ?? {}) as ContextPolicyInput);
  const environment = (blobs[record.environment] ?? { tools: [], settings: {} }) as unknown as CallEnvironment;
  const past = thread.upTo(record.basisLastSeq);
  const rules = PROJECTORS.find((name) => name === record.projector);
  const input = { ...inputOf(record, environment), thread: past, policy, rules };
  const { messages, toolSpec, provenance, meta } = project(input);
  const proven = rules !== undefined && meta.fingerprint === record.fingerprint;
  return {
    ...{ callId: call.callId, call, record, messages, toolSpec, settings: environment.settings, provenance, meta },
    heldSettings: (record.settingSeqs ?? []).flatMap((seq) => thread.at(seq) ?? []),
    transformed: false,
    explained: explain(input),
    ...{ policy, environment, proven },
    ...(!proven && {
      problem: {
        code: "call_not_proven",
        message: "The rebuilt messages differ from what was sent: the file is incomplete or was changed.",
      },
    }),
  };
}
