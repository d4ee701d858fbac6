import type { ContextPolicyInput } from "../projection/policy/fields.ts";
import type { JsonValue } from "../thread/json.ts";
import type { CallDetail, CallRow, ViewAnswer } from "./answers.ts";
import { pathOf } from "./calls.ts";
import type { Place } from "./place.ts";

export interface Viewing {
  readonly atSeq?: number | undefined;
  readonly lane?: string | undefined;
  readonly policy?: ContextPolicyInput | undefined;
  readonly system?: string | undefined;
  readonly tools?: JsonValue | undefined;
  readonly model?: string | undefined;
  /** Whether to ignore the environment and policy of the last call. Default: false. */
  readonly isBare?: boolean | undefined;
}

/** The context that a model would get. What `viewing` leaves out comes from the last call before that entry. */
export async function viewOf(place: Place, threadId: string, viewing: Viewing): Promise<ViewAnswer> {
  const { atSeq, isBare = false, ...given } = viewing;
  const last = isBare ? undefined : await lastCall(place, threadId, atSeq);
  const { environment, policy, record } = last ?? {};
  const usual = {
    policy: policy ?? {},
    system: environment?.systemPrompt ?? "",
    tools: environment?.tools ?? [],
    model: record?.model,
  };
  const asked = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return place.post<ViewAnswer>(pathOf(threadId, "view"), { atSeq, ...usual, ...asked });
}

async function lastCall(place: Place, threadId: string, atSeq: number | undefined): Promise<CallDetail | undefined> {
  const before = atSeq === undefined ? undefined : atSeq + 1;
  const { calls } = await place.get<{ calls: readonly CallRow[] }>(pathOf(threadId, "calls"), { limit: 1, before });
  const [call] = calls;
  if (call === undefined) return undefined;
  return place.get<CallDetail>(pathOf(threadId, "calls", call.callId), { seq: call.seq });
}
