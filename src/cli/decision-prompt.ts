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
  const { toolCallId, kind } = waiting;
  // Arguments are shown in full and in order, because the user must see exactly the call to approve.
  const call = callText(out, waiting);
  if (kind === "answer") {
    const given = (await io.ask(out.question(`What is the result of ${call}? `)))?.trim();
    if (!given) return false;
    await client.post(pathOf(threadId, "answer"), { toolCallId, output: asJson(given) });
    return true;
  }
  let given = (await io.ask(out.question(`May ${call} run? [y/n] `)))?.trim().toLowerCase();
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

/** The call that waits, with all its arguments as they are. */
export function callText(
  out: Pick<Output, "paintError">,
  { name, arguments: given }: Pick<WaitingCall, "name" | "arguments">,
): string {
  const inOneLine = escapeHidden(JSON.stringify(name).slice(1, -1)); // a name must not look like another question
  return `${out.paintError("bold", inOneLine)} ${escapeHidden(JSON.stringify(given))}`;
}

/** Returns what would run, and the command with which the user can decide on it. */
export function howToDecide(out: Pick<Output, "paintError">, threadId: string, waiting: WaitingCall): string {
  const { toolCallId, kind } = waiting;
  const ids = `${quoted(threadId)} ${quoted(toolCallId)}`;
  return kind === "answer"
    ? `${callText(out, waiting)} waits for its result: heddle answer ${ids} <output>`
    : `${callText(out, waiting)} waits for approval: heddle approve ${ids}, or heddle deny`;
}

/** An id as an argument of a shell. A provider may give any id to a call. */
function quoted(id: string): string {
  if (/^[\w.:@%+/-]+$/.test(id)) return id;
  const escaped = escapeHidden(
    id.replaceAll(/[\\']/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t").replaceAll("\r", "\\r"),
  );
  return `$'${escaped}'`;
}
