import type { WaitingCall } from "../agent/react/waiting.ts";
import { escapeHidden } from "../thread/hidden-characters.ts";
import { pathOf } from "./calls.ts";
import type { Io } from "./io.ts";
import type { Output } from "./output.ts";
import type { Place } from "./place.ts";

interface Asking {
  readonly io: Io;
  readonly out: Output;
  readonly place: Place;
  readonly threadId: string;
}

/** Whether a user sits at a terminal and can be asked. */
export function canAsk(
  io: Io,
  options: { readonly "no-input"?: boolean | undefined; readonly json?: boolean | undefined },
) {
  return io.stdinIsTerminal && io.stderr.isTerminal && options["no-input"] !== true && options.json !== true;
}

/** Asks the user at the terminal to decide on a tool call. False if the user gives no answer. */
export async function decided({ io, out, place, threadId }: Asking, waiting: WaitingCall): Promise<boolean> {
  const { toolCallId, name, kind } = waiting;
  // Shown in full and in order: the user must see exactly the call that they approve.
  const call = `${out.talk("bold", name)} ${escapeHidden(JSON.stringify(waiting.arguments))}`;
  if (kind === "answer") {
    const given = (await io.ask(`What is the result of ${call}? `))?.trim();
    if (!given) return false;
    await place.post(pathOf(threadId, "answer"), { toolCallId, output: asJson(given) });
    return true;
  }
  let given = (await io.ask(`May ${call} run? [y/n] `))?.trim().toLowerCase();
  while (given && !/^(y|yes|n|no)$/.test(given)) {
    given = (await io.ask("Please answer y or n; an empty line leaves it waiting: "))?.trim().toLowerCase();
  }
  if (!given) return false;
  await place.post(pathOf(threadId, given.startsWith("y") ? "approve" : "deny"), { toolCallId, by: "terminal" });
  return true;
}

/** Parses JSON; other text stays a string. */
export function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Says which command decides on a waiting tool call. */
export function howToDecide(threadId: string, { toolCallId, name, kind }: WaitingCall): string {
  return kind === "answer"
    ? `${name} waits for its result: heddle answer ${threadId} ${toolCallId} <output>`
    : `${name} waits for approval: heddle approve ${threadId} ${toolCallId}, or heddle deny`;
}
