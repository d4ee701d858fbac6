import fc from "fast-check";
import type { Content, EntryInput, JsonObject, JsonValue, Part, Refs } from "heddle";
import {
  answerContent,
  args,
  author,
  callId,
  content,
  maybe,
  result,
  resultFile,
  type Thought,
  text,
  thought,
  toolName,
} from "./words.ts";

/** What an entry may depend on when it is written. */
interface Moment {
  readonly seq: number;
  readonly lane: string;
  /** What the model would be shown now. */
  readonly fingerprint: () => string;
}

export type Draft = (moment: Moment) => EntryInput;

interface PlannedCall {
  readonly id: string | undefined;
  readonly name: string;
  readonly args: JsonValue;
  readonly result: JsonValue;
  /** Whoever has the lowest finishes first. */
  readonly rank: number;
  readonly fate: "answered" | "missing" | "late" | "twice";
  /** What it ran with, if its approval has edited it. */
  readonly edited: JsonValue | undefined;
  readonly files: readonly Part[] | undefined;
}

const plannedCall: fc.Arbitrary<PlannedCall> = fc.record({
  id: callId,
  name: toolName,
  args,
  result,
  rank: fc.nat({ max: 5 }),
  fate: fc.oneof(
    { weight: 10, arbitrary: fc.constant("answered" as const) },
    fc.constantFrom("missing" as const, "late" as const, "twice" as const),
  ),
  edited: maybe(2, args),
  files: maybe(2, fc.array(resultFile, { minLength: 1, maxLength: 2 })),
});

const round = fc.record({
  text: maybe(7, text),
  thought: maybe(3, thought),
  calls: fc.array(plannedCall, { minLength: 1, maxLength: 3 }),
  /** One entry for the whole answer, one for each call, or the text first and then the calls. */
  packaging: fc.constantFrom("whole", "calls", "text and calls"),
  hasCallId: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
  steer: maybe(2, content),
});
type Round = typeof round extends fc.Arbitrary<infer R> ? R : never;

export const turn = fc.record({
  vocabulary: fc.constantFrom("plain", "ai"),
  hasRequest: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
  ask: content,
  author: maybe(2, author),
  /** Messages that waited for the ask, of the same request. */
  injected: maybe(2, fc.array(content, { minLength: 1, maxLength: 3 })),
  rounds: fc.array(round, { maxLength: 3 }),
  answer: maybe(7, fc.record({ content: answerContent, thought: maybe(2, thought), pauses: fc.nat({ max: 8 }) })),
  /** After so many entries the process died. */
  crash: maybe(2, fc.nat({ max: 8 })),
});
export type Turn = typeof turn extends fc.Arbitrary<infer T> ? T : never;

/** The entries that a runtime would write for some turns, one after the other. */
export function written(turns: readonly Turn[]): Draft[] {
  let calls = 0;
  return turns.flatMap((turn, index) => {
    const { vocabulary, hasRequest, ask, author, injected, rounds, answer, crash } = turn;
    const refs: Refs = hasRequest ? { requestId: `r${index}` } : {};
    const say = (role: string, content: Content, more: JsonObject = {}, moreRefs: Refs = {}): Draft => {
      const kind = vocabulary === "ai" || Object.keys(more).length > 0 ? "ai_message" : "message";
      return ({ lane }) => {
        const payload = { ...(kind === "ai_message" && { contextRef: lane }), role, content, ...more } as JsonObject;
        return { kind, payload, refs: { ...refs, ...moreRefs } };
      };
    };
    const drafts = (injected ?? []).map((content) => say("user", content, { steer: "inject" }));
    drafts.push(say("user", ask, author === undefined ? {} : { author }));
    const late: Draft[] = [];
    for (const round of rounds) {
      const own = round.calls.map((call) => ({ ...call, id: call.id === "fresh" ? `call_${calls++}x` : call.id }));
      const callRefs: Refs = round.hasCallId ? { callId: `c${index}.${drafts.length}` } : {};
      drafts.push(...called({ ...round, calls: own }, vocabulary, { ...refs, ...callRefs }, say, callRefs));
      if (round.steer !== undefined) drafts.push(say("user", round.steer, round.hasCallId ? { steer: "steer" } : {}));
      for (const call of own.toSorted((a, b) => a.rank - b.rank)) {
        const answered = answerOf(call, vocabulary, { ...refs, ...callRefs });
        if (call.fate === "answered" || call.fate === "twice") drafts.push(answered);
        if (call.fate === "late" || call.fate === "twice") late.push(answered);
      }
    }
    if (answer !== undefined) {
      const { content, thought, pauses } = answer;
      const paused = say(
        "assistant",
        "I search.",
        { call: { finishReason: "paused" } },
        { callId: `c${index}.paused` },
      );
      drafts.push(...Array.from({ length: Math.max(0, pauses - 6) }, () => paused));
      const last = say("assistant", content, {}, { callId: `c${index}.last` });
      drafts.push(thought === undefined ? last : thoughtOver(say("assistant", content, { thinking: "" }), thought));
    }
    return [...drafts.slice(0, crash), ...late];
  });
}

type Say = (role: string, content: Content, more?: JsonObject, refs?: Refs) => Draft;

function called(round: Round, vocabulary: string, refs: Refs, say: Say, callRefs: Refs): Draft[] {
  const { calls, packaging, thought } = round;
  const words = round.text ?? "";
  const toolCalls = calls.map(({ id, name, args }) => ({ ...(id !== undefined && { id }), name, arguments: args }));
  if (packaging === "whole" || vocabulary === "ai") {
    const whole = say("assistant", words, { toolCalls }, callRefs);
    return [thought === undefined ? whole : thoughtOver(whole, thought)];
  }
  const lone = toolCalls.map(
    (payload): Draft =>
      () => ({ kind: "tool_call", payload, refs }),
  );
  if (packaging === "calls" || words === "") return lone;
  return [say("assistant", words, {}, callRefs), ...lone];
}

function thoughtOver(draft: Draft, { thinking, model, isFingerprinted }: Thought): Draft {
  return (moment) => {
    const { payload, ...entry } = draft(moment);
    const call: JsonObject = {
      ...(model !== undefined && { model }),
      ...(isFingerprinted && { fingerprint: moment.fingerprint() }),
    };
    return { ...entry, payload: { ...payload, thinking, call } };
  };
}

function answerOf({ id, name, result, edited, files }: PlannedCall, vocabulary: string, refs: Refs): Draft {
  const toolCallId = id !== undefined && { toolCallId: id };
  return ({ lane }) => {
    if (vocabulary === "plain") return { kind: "tool_result", payload: { ...toolCallId, name, result }, refs };
    const isError = typeof result === "object" && result !== null && "ok" in result && result["ok"] === false;
    const content = typeof result === "string" ? result : JSON.stringify(result);
    const details = content.length % 3 > 0 && { details: [name, "d".repeat((content.length % 3) * 600)] };
    const payload = {
      contextRef: lane,
      role: "tool",
      ...toolCallId,
      name,
      content: files === undefined ? content : ([{ type: "text", text: content }, ...files] as unknown as JsonValue), // parts are JSON
      ...(isError && { isError }),
      ...details,
      ...(edited !== undefined && { editedArguments: edited }),
    };
    return { kind: "ai_message", payload, refs };
  };
}
