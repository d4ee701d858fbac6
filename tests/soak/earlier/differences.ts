import type { JsonObject } from "heddle";
import type { Fact, NamedDifference } from "./compare.ts";

/** All that differs between the two runtimes. */
export const NAMED_DIFFERENCES: readonly NamedDifference[] = [
  {
    name: "a connection that breaks within a stream is `model_stream_interrupted`",
    why: "It was `model_unavailable`, although the provider had been reached. The error of the result has it as its cause.",
    seed: 50006,
    explains: ({ earlier: [before], today: [now] }) => {
      const renamed = before?.text.replaceAll("model_unavailable", "model_stream_interrupted");
      const withCause = before?.text.replace("request_failed", "request_failed: model_stream_interrupted");
      return now !== undefined && [renamed, withCause].includes(now.text) ? [1, 1] : undefined;
    },
  },
  {
    name: "a stream that is cut in its last attempt fails the request",
    why: "The tool calls that had arrived were run, and the request went on with half an answer.",
    seed: 50012,
    explains: ({ earlier: [before], today: [now], played }) => {
      if (before === undefined || now === undefined) return undefined;
      // The append of the answer may have met an outage.
      if (played.earlier.storeFaults === 0 && callIdOf(before) !== callIdOf(now)) return undefined;
      const isAnswer = before.text.includes('"finishReason":"interrupted"') && kindOf(before) === "ai_message";
      const isLost = played.earlier.storeFaults > 0 && before.text.includes('"code":"store_unreachable"');
      return (isAnswer || isLost) && now.text.includes('"code":"model_stream_interrupted"') ? "rest" : undefined;
    },
  },
  {
    name: "event numbers are left out",
    why: "After a take-over the first event has a higher number. Numbers may be left out, and none is used twice.",
    seed: 50469,
    explains: ({ earlier: [before], today: [now], played }) => {
      const hasRestarted = played.today.starts > 1;
      return hasRestarted && withoutEventNumber(before) === withoutEventNumber(now) ? [1, 1] : undefined;
    },
  },
  {
    name: "calls of one answer end in another order",
    why: "An answer has no order among its calls. A call that ends at once may be written before or after another one.",
    seed: 50710,
    explains: ({ earlier, today, played }) => {
      const [before, now] = [earlier[0], today[0]];
      const isRequested = [before, now].some((fact) => fact !== undefined && kindOf(fact) === "approval_requested");
      for (let count = 2; count <= MOST_CALLS; count++) {
        const [first, second] = [earlier.slice(0, count), today.slice(0, count)];
        const callIds = new Set([...first, ...second].map((fact) => callIdOf(fact)));
        if (callIds.size > 1 || callIds.has(undefined)) break;
        if (isPermutation(first, second)) return [count, count];
      }
      // The process ended between the two.
      const isSame = before !== undefined && now !== undefined && callIdOf(before) === callIdOf(now);
      return isRequested && isSame && played.today.starts > 1 ? "rest" : undefined;
    },
  },
  {
    name: "a command behind an append that fails is carried out after it",
    why: "It was refused as `busy` or with the error of the store. Now it waits until the log was read again.",
    seed: 50507,
    explains: ({ played: { earlier, today } }) => {
      const isCarriedOut = [...earlier.outcomes].some(([name, outcome]) => {
        const now = today.outcomes.get(name);
        return /store_unreachable|RequestError busy/.test(outcome) && now !== undefined && now !== outcome;
      });
      return isCarriedOut && today.storeFaults > 0 ? "rest" : undefined;
    },
  },
  {
    name: "a start that meets an outage waits for the store",
    why: "It was rejected, and the caller had to start the server again.",
    seed: 50052,
    explains: ({ played: { earlier, today } }) => {
      return today.storeFaults > 0 && earlier.starts > today.starts ? "rest" : undefined;
    },
  },
  {
    name: "a request that is stopped in an outage is suspended with the error of the store",
    why: "Stop and failure come together. The log is the same.",
    seed: 51841,
    explains: ({ earlier: [before], today: [now], played }) => {
      const isSuspended = [before, now].every((fact) => fact?.text.includes('"RequestError request_suspended'));
      return isSuspended && played.today.storeFaults > 0 ? [1, 1] : undefined;
    },
  },
  {
    name: "a command gets an answer when its server stops",
    why: "`finish` of a request that a stop interrupts had none.",
    seed: 50545,
    explains: ({ earlier: [before], today: [now] }) => {
      const isAnswered =
        before !== undefined && now !== undefined && field(before, "command") === field(now, "command");
      return isAnswered && field(before, "outcome") === "no answer" ? [1, 1] : undefined;
    },
  },
];

/** Entries of the calls of one answer: requested, resolved and the result of each. */
const MOST_CALLS = 9;

function field(fact: Fact, name: string): unknown {
  return (fact.value as JsonObject)[name]; // entries and outcomes are objects
}

function kindOf(fact: Fact): unknown {
  return field(fact, "kind");
}

function callIdOf(fact: Fact): unknown {
  const refs = field(fact, "refs");
  return typeof refs === "object" && refs !== null ? Reflect.get(refs, "callId") : undefined;
}

function isPermutation(before: readonly Fact[], now: readonly Fact[]): boolean {
  const sorted = (facts: readonly Fact[]): string => JSON.stringify(facts.map(({ text }) => text).sort());
  return before.length === now.length && sorted(before) === sorted(now);
}

function withoutEventNumber(fact: Fact | undefined): string | undefined {
  return fact?.text.replace(/"eventSeq":\d+/, "");
}
