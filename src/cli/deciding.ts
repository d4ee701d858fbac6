import type { WaitingCall } from "../agent/react/waiting.ts";
import type { StudioInfo, ThreadDetail } from "./answers.ts";
import { pathOf } from "./calls.ts";
import type { Call } from "./command.ts";
import { badUsage, CliError, EXIT } from "./exit.ts";
import { follow } from "./follow.ts";
import { type Interrupts, interruptible } from "./interrupts.ts";
import { AGENT, type Options, PLACE } from "./options.ts";
import { at, type Place } from "./place.ts";

export const DECIDING = {
  detach: { type: "boolean", help: "with --server: do not wait for the end of the request" },
  ...PLACE,
  ...AGENT,
} as const satisfies Options;

interface Decision {
  readonly verdict: "approve" | "deny" | "answer";
  readonly toolCallId: string | undefined;
  readonly body: object;
}

/** Decides on a waiting tool call, and follows its request to the end. Returns the exit code. */
export function decide(call: Call<typeof DECIDING>, given: string, decision: Decision): Promise<number> {
  return interruptible(call, (interrupts) => decideWhile(interrupts, call, given, decision));
}

async function decideWhile(
  interrupts: Interrupts,
  call: Call<typeof DECIDING>,
  given: string,
  decision: Decision,
): Promise<number> {
  const { out, options } = call;
  const { verdict, body } = decision;
  // `interruptible` handles Ctrl-C until this promise settles, so the request is awaited.
  return at(call, { acts: true }, async (place) => {
    if (options.detach === true && !place.isServer)
      throw badUsage("--detach needs --server: without a Studio, no process would continue the request.");
    const threadId = await place.threadId(given);
    const { request } = await place.get<ThreadDetail>(pathOf(threadId));
    const waiting = chosen(request?.waiting ?? [], decision);
    if (request === undefined) throw nothingWaits();
    await checkTools(place, request.waiting);
    const begin = async (): Promise<string> => {
      await place.post(pathOf(threadId, verdict), { toolCallId: waiting.toolCallId, by: "command line", ...body });
      return request.id;
    };
    if (options.detach !== true) return follow({ call: call as unknown as Call, place, threadId, interrupts, begin });
    const requestId = await begin();
    if (out.isJson) await out.json({ threadId, requestId, toolCallId: waiting.toolCallId, verdict });
    return EXIT.ok;
  });
}

function chosen(waiting: readonly WaitingCall[], { verdict, toolCallId }: Decision): WaitingCall {
  const kind = verdict === "answer" ? "answer" : "approval";
  const fitting = waiting.filter(
    (one) => one.kind === kind && (toolCallId === undefined || one.toolCallId === toolCallId),
  );
  const [first, second] = fitting;
  if (first === undefined) throw nothingWaits(waiting);
  if (second === undefined) return first;
  const ids = fitting.map((one) => `${one.toolCallId} (${one.name})`).join(", ");
  throw badUsage(`Several tool calls wait. Name one: ${ids}`);
}

function nothingWaits(waiting: readonly WaitingCall[] = []): CliError {
  const others = waiting.map(
    ({ toolCallId, kind }) => `${toolCallId} for ${kind === "answer" ? "its result" : "approval"}`,
  );
  const message = `No such call waits in this thread.${others.length === 0 ? "" : ` Waiting: ${others.join(", ")}.`}`;
  return new CliError({ code: "not_waiting", exit: EXIT.refused, message });
}

/** The tools run in this process. An agent without the waiting tool would make the request fail. */
async function checkTools(place: Place, waiting: readonly WaitingCall[]): Promise<void> {
  if (place.isServer) return;
  const { tools, agent } = await place.get<StudioInfo>("/api/info");
  const missing = waiting.find(({ name }) => !tools.some((tool) => tool.name === name));
  if (missing === undefined) return;
  const message = `The agent ${agent} has no tool ${missing.name}. Name the agent of this thread with --agent, or a Studio with --server.`;
  throw new CliError({ code: "tool_missing", exit: EXIT.refused, message });
}
