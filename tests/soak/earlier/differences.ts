import type { JsonObject } from "heddle";
import type { Fact, NamedDifference } from "./compare.ts";

/** All that differs between the two runtimes. */
export const NAMED_DIFFERENCES: readonly NamedDifference[] = [
  {
    name: "the message of a failure has other words",
    why: "Codes are compared. Messages are for people and were put in plain words.",
    seed: 30001,
    explains: ({ earlier: [before], today: [now] }) => {
      return withoutMessage(before) === withoutMessage(now) ? [1, 1] : undefined;
    },
  },
  {
    name: "a connection that breaks within a stream is `model_stream_interrupted`",
    why: "It was `model_unavailable`, although the provider had been reached.",
    seed: 30006,
    explains: ({ earlier: [before], today: [now] }) => {
      const renamed = withoutMessage(before)?.replaceAll("model_unavailable", "model_stream_interrupted");
      return renamed === withoutMessage(now) ? [1, 1] : undefined;
    },
  },
  {
    name: "a stream that is cut in its last attempt fails the request",
    why: "The tool calls that had arrived were run, and the request went on with half an answer.",
    seed: 30809,
    explains: ({ earlier: [before], today: [now] }) => {
      if (before === undefined || now === undefined || callIdOf(before) !== callIdOf(now)) return undefined;
      const isCut = before.text.includes('"finishReason":"interrupted"') && kindOf(before) === "ai_message";
      return isCut && now.text.includes('"code":"model_stream_interrupted"') ? "rest" : undefined;
    },
  },
  {
    name: "event numbers are left out",
    why: "After a take-over the first event has a higher number. Numbers may be left out, and none is used twice.",
    seed: 10011,
    explains: ({ earlier: [before], today: [now], played }) => {
      const hasRestarted = played.today.starts > 1;
      return hasRestarted && withoutEventNumber(before) === withoutEventNumber(now) ? [1, 1] : undefined;
    },
  },
  {
    name: "calls of one answer end in another order",
    why: "An answer has no order among its calls. A call that ends at once may be written before or after another one.",
    seed: 10079,
    explains: ({ earlier, today }) => {
      for (let count = 2; count <= MOST_CALLS; count++) {
        const [before, now] = [earlier.slice(0, count), today.slice(0, count)];
        const callIds = new Set([...before, ...now].map((fact) => callIdOf(fact)));
        if (callIds.size > 1 || callIds.has(undefined)) return undefined;
        if (isPermutation(before, now)) return [count, count];
      }
      return undefined;
    },
  },
  {
    name: "a command behind an append that fails is carried out after it",
    why: "It was refused as `busy` or with the error of the store. Now it waits until the log was read again.",
    seed: 11262,
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
    seed: 10013,
    explains: ({ played: { earlier, today } }) => {
      return today.storeFaults > 0 && earlier.starts > today.starts ? "rest" : undefined;
    },
  },
  {
    name: "a request that is stopped in an outage is suspended with the error of the store",
    why: "Stop and failure come together. The log is the same.",
    seed: 20032,
    explains: ({ earlier: [before], today: [now], played }) => {
      const isSuspended = [before, now].every((fact) => fact?.text.includes('"RequestError request_suspended'));
      return isSuspended && played.today.storeFaults > 0 ? [1, 1] : undefined;
    },
  },
  {
    name: "a command gets an answer when its server stops",
    why: "`finish` of a request that a stop interrupts had none.",
    seed: 11223,
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

function withoutMessage(fact: Fact | undefined): string | undefined {
  return fact?.text.replaceAll(/"message":"(?:[^"\\]|\\.)*"/g, "");
}

function withoutEventNumber(fact: Fact | undefined): string | undefined {
  return fact?.text.replace(/"eventSeq":\d+/, "");
}
