import {
  type CallEnvironment,
  type CallRecord,
  ContextPolicy,
  type ContextPolicyInput,
  calibrated,
  explain,
  heuristic,
  type JsonValue,
  PROJECTORS,
  type ProjectionInput,
  project,
  type Thread,
  type TokenCounter,
  type ToolSpec,
} from "heddle";
import { sameMessages } from "../saw/diff.ts";
import { recordIn } from "./calls.ts";
import type { CallDetail, CallRow } from "./contract.ts";

type Blobs = { readonly [hash: string]: JsonValue };

/** The counter a call was counted by; an exact one is not in the page, and the heuristic stands for it. */
function counterOf({ calibration }: Pick<CallRecord, "calibration">): TokenCounter {
  return calibration === 1 ? heuristic : calibrated(heuristic, calibration);
}

/** What a call was projected from, besides its thread. */
export function inputOf(
  record: CallRecord,
  environment: CallEnvironment,
): Omit<ProjectionInput, "thread" | "policy" | "previous"> {
  return {
    system: environment.systemPrompt,
    tools: environment.tools as unknown as readonly ToolSpec[], // written by heddle
    lane: record.lane,
    model: record.model,
    tokenCounter: counterOf(record),
  };
}

/** The exact context of a call, made again in the page and compared with the fingerprint that was recorded. */
export function rebuilt(thread: Thread, row: CallRow, before: CallRow | undefined, blobs: Blobs): CallDetail {
  const record = recordOf(thread, row);
  const detail = projected(thread, row, record, blobs);
  if (before === undefined) return detail;
  const earlier = projected(thread, before, recordOf(thread, before), blobs);
  return {
    ...detail,
    previous: { callId: before.callId, stablePrefix: sameMessages(earlier.messages, detail.messages) },
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
    transformed: false,
    explained: explain(input),
    ...{ policy, environment, proven },
    ...(!proven && {
      problem: {
        code: "call_not_proven",
        message: "The messages come out otherwise than they were sent: the file lacks something, or was changed.",
      },
    }),
  };
}
