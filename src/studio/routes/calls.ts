import { fingerprintOf } from "../../projection/engine/fingerprint.ts";
import type { Projection, Provenance } from "../../projection/projection.ts";
import { toAISDKPrompt } from "../../providers/ai-sdk/prompt.ts";
import { toAnthropic } from "../../providers/wire/anthropic.ts";
import { toGemini } from "../../providers/wire/gemini.ts";
import { toOpenAIChat } from "../../providers/wire/openai-chat.ts";
import { toOpenAIResponses } from "../../providers/wire/openai-responses.ts";
import { CallError, callsBack, type FoundCall, settingsOf } from "../../runtime/calls/find-call.ts";
import { renderCall, sentChanges } from "../../runtime/calls/rebuild-call.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { Message, ToolSpec } from "../../thread/message.ts";
import { causesOf, changesOf, commonStart, firstChange, stablePrefix } from "../call-diff.ts";
import type { CallDetail, CallDiff, CallPage, CallRow, CallWire, Problem, RebuiltCallView } from "../contract.ts";
import { numberIn, oneOf } from "../http/request.ts";
import { badField, type JsonResponse, json, StudioError } from "../http/response.ts";
import type { RouteCall } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { TimeLimit } from "./list-threads.ts";

const MAX_LIMIT = 500;
/** How many entries one store read returns. */
const STEP = 20_000;

/** GET /api/threads/{id}/calls. Lists newest calls first. If the search stopped early, `searchedTo` says where. */
export async function listCalls({ studio, query, param }: RouteCall): Promise<JsonResponse<CallPage>> {
  const id = param("id");
  const limit = Math.max(1, numberIn(query, "limit", MAX_LIMIT) ?? 50);
  const before = numberIn(query, "before");
  const thread = await studio.store.load(id, { last: 1 });
  if (thread === undefined) throw threadNotFound(id);
  const calls: CallRow[] = [];
  const budget = new TimeLimit(studio.ports.clock);
  for (let toSeq = Math.min(before ?? thread.rev, thread.rev) - 1; toSeq >= 0; toSeq -= STEP) {
    const fromSeq = Math.max(0, toSeq - STEP + 1);
    for await (const found of callsBack(studio.store, id, { fromSeq, toSeq })) {
      studio.callSeqs.note(id, found);
      calls.push(callRow(found));
      if (calls.length >= limit) return json<CallPage>({ calls });
    }
    if (fromSeq > 0 && (await budget.isReached())) return json<CallPage>({ calls, searchedTo: fromSeq });
  }
  return json<CallPage>({ calls });
}

/** A model call in a list. */
function callRow({ callId, entry, record }: FoundCall): CallRow {
  const { seq, at, refs, kind } = entry;
  const { model, estimatedTokens, usage, finishReason, fingerprint, basisLastSeq, lane } = record;
  const { code, message } = entry.payload as JsonObject; // every entry payload is a JSON object
  return {
    callId,
    seq,
    at,
    requestId: refs.requestId,
    iteration: refs.iteration,
    model,
    lane,
    estimatedTokens,
    usage,
    finishReason,
    fingerprint,
    basisLastSeq,
    view: record.view,
    ...(kind === "error" && { error: { code: String(code), message: String(message) } }),
  };
}

/** How many calls are searched for the previous call of the same lane. Usually it is among them. */
const MAX_SEARCHED = 50;

/**
 * GET /api/threads/{id}/calls/{callId}: the messages sent, whether they are proven, and what changed since the previous
 * call.
 */
export async function callDetail({ studio, query, param }: RouteCall): Promise<JsonResponse<CallDetail>> {
  const id = param("id");
  const found = await studio.callSeqs.find(id, param("callId"), numberIn(query, "seq"));
  const shown = await shownCall(studio, id, found);
  const before = await callBefore(studio, id, found);
  const previous = before && comparedWith(await shownCall(studio, id, before), shown);
  return json<CallDetail>({ call: callRow(found), ...shown, ...(previous && { previous }) });
}

/** Returns the previous call on the same lane, or else the previous call on any lane. */
async function callBefore(studio: Studio, id: string, { entry, record }: FoundCall): Promise<FoundCall | undefined> {
  if (entry.seq === 0) return undefined;
  let last: FoundCall | undefined;
  let looked = 0;
  for await (const found of callsBack(studio.store, id, { toSeq: entry.seq - 1 })) {
    last ??= found;
    if (found.record.lane === record.lane) return found;
    if (++looked >= MAX_SEARCHED) break;
  }
  return last;
}

function comparedWith(before: RebuiltCallView, shown: RebuiltCallView): NonNullable<CallDetail["previous"]> {
  const { callId } = before;
  if (before.messages.length === 0 || shown.messages.length === 0) return { callId, stablePrefix: 0 };
  const change = firstChange(before, shown);
  return { callId, stablePrefix: stablePrefix(before, shown), ...(change && { firstChange: change }) };
}

/** GET /api/threads/{id}/diff?a=&b=: compares two calls message by message. */
export async function diffCalls({ studio, query, param }: RouteCall): Promise<JsonResponse<CallDiff>> {
  const id = param("id");
  const [first, second] = await Promise.all(
    ["a", "b"].map(async (name) => {
      const callId = query.get(name);
      if (callId === null || callId === "") throw badField(name, "the id of a call, and is missing");
      return shownCall(studio, id, await studio.callSeqs.find(id, callId));
    }),
  );
  if (first === undefined || second === undefined) throw badField("a and b", "the ids of two calls");
  const causes = causesOf(first, second);
  const [a, b] = [first.messages, second.messages];
  const problem = first.problem ?? second.problem;
  return json<CallDiff>({
    same: commonStart(a, b),
    a,
    b,
    changes: changesOf(first, second),
    causes,
    ...(problem && { problem }),
  });
}

export const WIRES = ["openai-chat", "openai-responses", "anthropic", "gemini", "ai-sdk"] as const;

/** GET /api/threads/{id}/calls/{callId}/wire: the messages in the wire format of a provider. */
export async function wireOfCall({ studio, query, param }: RouteCall): Promise<JsonResponse<CallWire>> {
  const provider = oneOf(WIRES, query.get("provider") ?? "", "provider");
  const id = param("id");
  const shown = await shownCall(studio, id, await studio.callSeqs.find(id, param("callId")));
  if (shown.problem !== undefined && shown.messages.length === 0) {
    throw new StudioError({ ...shown.problem, status: 422 });
  }
  return json<CallWire>({ provider, proven: shown.proven, body: bodyFor(provider, shown.messages, shown.toolSpec) });
}

/** Builds the request body in the wire format of a provider. */
export function bodyFor(
  provider: (typeof WIRES)[number],
  messages: readonly Message[],
  tools: readonly ToolSpec[],
): unknown {
  switch (provider) {
    case "openai-chat":
      return toOpenAIChat(messages, tools);
    case "openai-responses":
      return toOpenAIResponses(messages, tools);
    case "anthropic":
      return toAnthropic(messages, tools, { cache: true }); // agents send cache marks too
    case "gemini":
      return toGemini(messages, tools);
    case "ai-sdk":
      return { prompt: toAISDKPrompt(messages), tools };
    default:
      return provider satisfies never;
  }
}

export async function shownCall(
  studio: Studio,
  threadId: string,
  { callId, record }: FoundCall,
): Promise<RebuiltCallView> {
  const { readers, exactCounter: tokenCounter } = await studio.settings;
  try {
    const rendered = await renderCall(studio.store, threadId, record, { readers, tokenCounter });
    const { projection, policy, environment } = rendered;
    const sent = record.sent === undefined ? undefined : await sentChanges(studio.store, record.sent);
    const messages = sent?.messages ?? projection.messages;
    const toolSpec = sent?.tools ?? projection.toolSpec;
    const fingerprint = fingerprintOf(toolSpec, messages);
    const proven = fingerprint === record.fingerprint;
    return {
      callId,
      record,
      messages,
      toolSpec,
      settings: sent?.settings ?? environment.settings,
      heldSettings: await settingsOf(studio.store, threadId, record),
      provenance: sent === undefined ? projection.provenance : matched(messages, projection),
      meta: projection.meta,
      explained: rendered.explain(),
      policy,
      environment,
      transformed: sent !== undefined,
      proven,
      ...(!proven && { problem: unproven(callId) }),
    };
  } catch (error) {
    if (!CallError.isInstance(error)) throw error;
    const { code, message } = error;
    const nothing = { messages: [], toolSpec: [], settings: {}, provenance: [], explained: [], transformed: false };
    const heldSettings = await settingsOf(studio.store, threadId, record);
    return { callId, record, ...nothing, heldSettings, proven: false, problem: { code, message } };
  }
}

/** Returns one provenance per message. Messages that a transformer made get a provenance without entries. */
function matched(messages: readonly Message[], projection: Projection): readonly Provenance[] {
  const left = new Map(
    projection.messages.map((message, index) => [JSON.stringify(message), projection.provenance[index]]),
  );
  return messages.map((message) => {
    const segment = message.role === "system" ? ("system" as const) : ("history" as const);
    return left.get(JSON.stringify(message)) ?? { segment, seqs: [], tokens: 0 };
  });
}

function unproven(callId: string): Problem {
  const message = `Call ${callId} differs from what was sent. The log was changed, or a reader is missing. Check the log: heddle verify.`;
  return { code: "call_not_proven", message };
}
