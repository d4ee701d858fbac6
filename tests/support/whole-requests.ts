import type { Entry, JsonObject } from "heddle";
import { expect } from "vitest";

interface Message {
  readonly role?: string;
  readonly content?: JsonObject;
  readonly steer?: string;
  readonly toolCalls?: readonly { readonly id: string }[];
}

export const messageOf = ({ payload }: Entry): Message => payload as Message;

function isAsk(entry: Entry): boolean {
  const { role, steer } = messageOf(entry);
  return role === "user" && steer === undefined;
}

/** Checks that each request of a thread has one end, and each call one result. Returns the number of requests. */
export function expectWholeRequests(threadId: string, entries: readonly Entry[]): number {
  const asks = entries.filter(isAsk);
  for (const { refs } of asks) {
    const own = entries.filter((entry) => entry.refs.requestId === refs.requestId);
    expect(own.filter(({ payload }) => "end" in payload).length, `ends of ${refs.requestId} in ${threadId}`).toBe(1);
    const calls = own.flatMap((entry) => messageOf(entry).toolCalls ?? []).map((call) => call.id);
    const results = own.filter((entry) => messageOf(entry).role === "tool").map((one) => one.refs["toolCallId"]);
    expect(results.toSorted(), `results of ${refs.requestId} in ${threadId}`).toEqual(calls.toSorted());
  }
  return asks.length;
}

/** Checks the lines that the tools of `planAgent` have noted: only `note` may run twice. */
export function expectRunsOnce(lines: readonly string[]): void {
  const once = lines.filter((line) => !line.startsWith("note "));
  const repeated = once.filter((line, index) => once.indexOf(line) !== index);
  expect(repeated, "tools that ran twice").toEqual([]);
}
