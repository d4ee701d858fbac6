import type { WaitingCall } from "../agent/react/agent.ts";
import { escapeHidden } from "../thread/hidden-characters.ts";
import type { Io } from "./io.ts";
import type { Output } from "./output.ts";
import type { StudioClient } from "./studio-client.ts";
import { pathOf } from "./studio-requests.ts";

interface DecisionPrompt {
  readonly io: Io;
  readonly out: Output;
  readonly client: StudioClient;
  readonly threadId: string;
}

/** Whether the process has a terminal at which it can ask the user. */
export function canAsk(
  io: Io,
  options: { readonly "no-input"?: boolean | undefined; readonly json?: boolean | undefined },
) {
  return io.stdinIsTerminal && io.stderr.isTerminal && options["no-input"] !== true && options.json !== true;
}

/** Asks the user at the terminal to decide on a tool call. Returns false if the user gives no answer. */
export async function askForDecision(
  { io, out, client, threadId }: DecisionPrompt,
  waiting: WaitingCall,
): Promise<boolean> {
  const { toolCallId, name, kind } = waiting;
  // Arguments are shown in full and in order, because the user must see exactly the call to approve.
  const call = `${out.paintError("bold", name)} ${escapeHidden(JSON.stringify(waiting.arguments))}`;
  if (kind === "answer") {
    const given = (await io.ask(`What is the result of ${call}? `))?.trim();
    if (!given) return false;
    await client.post(pathOf(threadId, "answer"), { toolCallId, output: asJson(given) });
    return true;
  }
  let given = (await io.ask(`May ${call} run? [y/n] `))?.trim().toLowerCase();
  while (given && !/^(y|yes|n|no)$/.test(given)) {
    given = (await io.ask("Please answer y or n; an empty line leaves it waiting: "))?.trim().toLowerCase();
  }
  if (!given) return false;
  await client.post(pathOf(threadId, given.startsWith("y") ? "approve" : "deny"), { toolCallId, by: "terminal" });
  return true;
}

/** Parses JSON. Text that is not JSON is returned as a string. */
export function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** Returns the command with which the user can decide on a waiting tool call. */
export function howToDecide(threadId: string, { toolCallId, name, kind }: WaitingCall): string {
  return kind === "answer"
    ? `${name} waits for its result: heddle answer ${threadId} ${toolCallId} <output>`
    : `${name} waits for approval: heddle approve ${threadId} ${toolCallId}, or heddle deny`;
}
