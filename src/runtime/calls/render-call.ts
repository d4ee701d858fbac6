import type { CallEnvironment, CallRecord } from "../../agent/model-call.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { ExplainedEntry, Projection } from "../../projection/projection.ts";
import { createProjector } from "../../projection/projector.ts";
import { isProjectorName } from "../../projection/rules.ts";
import type { Readers } from "../../projection/transcript/entry-reader.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { ThreadStore } from "../../stores/port.ts";
import { loadMissing } from "../../stores/project-from-store.ts";
import type { JsonObject, JsonValue } from "../../thread/json.ts";
import type { ToolSpec } from "../../thread/message.ts";
import type { Thread } from "../../thread/thread.ts";
import { calibrated } from "../../tokens/calibrate.ts";
import { factsOf, heuristic, type TokenCounter } from "../../tokens/counter.ts";
import { CallError } from "./find-call.ts";

/** What an agent brought that is not in the log. */
export interface RebuildOptions {
  /** The readers that the agent had. Default: none. */
  readonly readers?: Readers | undefined;
  /** Needed where the call was counted by a counter of your own, or by an exact one. Default `heuristic`. */
  readonly tokenCounter?: TokenCounter | undefined;
}

/** A past call projected again, with all that it was projected by. */
export interface RenderedCall {
  readonly projection: Projection;
  readonly explain: () => readonly ExplainedEntry[];
  readonly policy: ContextPolicyInput;
  readonly environment: CallEnvironment;
}

/** Entries read at first. */
const FIRST = 200;

/** Projects the log again as it was when the call was made, with the policy and the environment that it names. */
export async function renderCall(
  store: ThreadStore,
  threadId: string,
  record: CallRecord,
  options: RebuildOptions,
): Promise<RenderedCall> {
  const { projector: rules } = record;
  if (!isProjectorName(rules)) {
    const message = `The call was projected by ${rules}, which this version of heddle does not have. Update heddle.`;
    throw new CallError({ code: "projector_unknown", message });
  }
  const policy = (await callBlob(store, record.policy, "policy")) as ContextPolicyInput; // written by us
  const environment = (await callBlob(store, record.environment, "environment")) as unknown as CallEnvironment; // by us
  const { systemPrompt, tools } = environment;
  const input = {
    policy,
    tokenCounter: counterOf(record, options.tokenCounter),
    system: systemPrompt,
    tools: tools as unknown as readonly ToolSpec[], // written by us
    lane: record.lane,
    model: record.model,
    readers: options.readers,
    rules,
  };
  const projector = createProjector({ keep: 1 });
  for (let thread = await loaded(store, threadId, record.basisLastSeq); ; ) {
    try {
      const projection = projector.project({ ...input, thread });
      const shown = thread;
      return { projection, policy, environment, explain: () => projector.explain({ ...input, thread: shown }) };
    } catch (error) {
      thread = await loadMissing(store, thread, error);
    }
  }
}

async function loaded(store: ThreadStore, threadId: string, upToSeq: number): Promise<Thread> {
  const thread = await store.load(threadId, { last: FIRST, upToSeq });
  if (thread === undefined) throw threadNotFound(threadId);
  return thread;
}

/** The counter by which it was decided what fits. */
function counterOf({ counter, calibration }: CallRecord, given: TokenCounter | undefined): TokenCounter {
  const base = given ?? heuristic;
  const same = [base, calibrated(base, calibration)].find((one) => {
    const { id, version } = factsOf(one);
    return id === counter.id && version === counter.version;
  });
  if (same !== undefined) return same;
  const message = `The call was counted by ${counter.id}, version ${counter.version}. Pass that tokenCounter.`;
  throw new CallError({ code: "counter_missing", message });
}

/** JSON that the record of a call names by its hash. */
export async function callBlob(store: ThreadStore, hash: string, what: string): Promise<JsonValue> {
  const found = await store.getBlob(hash);
  if (found !== undefined && !(found instanceof Uint8Array)) return found;
  throw new CallError({
    code: "call_blob_missing",
    message: `The ${what} of the call, blob ${hash}, is not in this store.`,
  });
}

/** What `transformRequest` changed before the call was sent; earlier versions wrote all three. */
export interface SentChanges {
  readonly messages?: Projection["messages"];
  readonly tools?: readonly ToolSpec[];
  readonly settings?: JsonObject;
}

export async function sentChanges(store: ThreadStore, hash: string): Promise<SentChanges> {
  return (await callBlob(store, hash, "changes of transformRequest")) as unknown as SentChanges; // written by us
}
