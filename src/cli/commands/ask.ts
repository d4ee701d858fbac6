import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { runtimePorts } from "../../runtime/ports.ts";
import type { AskAccepted, Info, ThreadDetail } from "../../studio/contract.ts";
import { HeddleError } from "../../thread/errors.ts";
import { chosenAgent } from "../agent.ts";
import type { Steering } from "../chat-steering.ts";
import { AGENT_OPTIONS, CLIENT_OPTIONS, type CommandCall, type CommandOptions, defineCommand } from "../command.ts";
import { howToDecide } from "../decision-prompt.ts";
import { follow } from "../follow.ts";
import { type Interrupts, interruptible } from "../interrupts.ts";
import { CliError, EXIT } from "../io.ts";
import { POLICY_HELP, parsePolicy, readContent } from "../option-values.ts";
import { type StudioClient, withClient } from "../studio-client.ts";
import { pathOf } from "../studio-requests.ts";

/** The options of `ask` and `chat`. */
export const ASK_OPTIONS = {
  thread: { type: "string", short: "t", value: "thread", help: "the thread to continue; default: a new one" },
  title: { type: "string", value: "text", help: "title of a new thread; default: the first words" },
  policy: { type: "string", value: "policy", help: POLICY_HELP },
  tool: {
    type: "string",
    multiple: true,
    value: "name",
    help: "allow only this tool; repeat it to allow more",
  },
} as const satisfies CommandOptions;

interface AskOptions {
  readonly call: CommandCall<typeof ASK_OPTIONS & typeof AGENT_OPTIONS>;
  readonly contextPolicy: ContextPolicyInput | undefined;
  readonly client: StudioClient;
  readonly interrupts: Interrupts;
  readonly steering?: Steering | undefined;
  /** Called once the request has been accepted. */
  readonly onAccepted?: (() => Promise<void>) | undefined;
}

/** Checks the option --policy. Call it before a thread is created, so that an invalid policy leaves no empty thread. */
export async function policyOption({ io, options }: AskOptions["call"]): Promise<ContextPolicyInput | undefined> {
  return options.policy === undefined ? undefined : parsePolicy(io, options.policy);
}

/** Sends a request and follows it to its end. Returns the exit code. */
export async function askAndFollow(asking: AskOptions, content: string): Promise<number> {
  const { call } = asking;
  const isNew = call.options.thread === undefined;
  const threadId = await threadFor(asking);
  const onAccepted = async (): Promise<void> => {
    if (isNew && !call.out.isJson && !asking.client.isTemporary)
      await call.out.info(call.out.paintError("dim", `thread ${threadId} · continue it with --thread ${threadId}`));
  };
  return askInThread({ ...asking, onAccepted }, { threadId, isNew }, content);
}

/** Returns the id of the thread in --thread, or creates a thread. */
export async function threadFor({ call, client }: AskOptions): Promise<string> {
  const { thread, title } = call.options;
  if (thread !== undefined) {
    const id = await client.threadId(thread);
    await warnOfOtherAgent(call, client, id);
    return id;
  }
  const agent = chosenAgent(call.options.agent);
  const { id } = await client.post<{ readonly id: string }>("/api/threads", { title, agent });
  return id;
}

interface AskThread {
  readonly threadId: string;
  /** Whether the thread was created for this request. It is deleted if the request is refused. */
  readonly isNew: boolean;
}

export async function askInThread(
  asking: AskOptions,
  { threadId, isNew }: AskThread,
  content: string,
): Promise<number> {
  const { call, contextPolicy, client, interrupts, steering } = asking;
  const { tool } = call.options;
  const agent = chosenAgent(call.options.agent);
  const requestId = runtimePorts().ids("req");
  const body = {
    ...{ content, requestId, next: [] },
    ...(contextPolicy && { contextPolicy }),
    ...(tool && { allowedTools: tool }),
    ...(agent !== undefined && { agent }),
  };
  const begin = async (): Promise<void> => {
    await client.post<AskAccepted>(pathOf(threadId, "ask"), body).catch(async (error: unknown) => {
      if (isNew) await client.send(pathOf(threadId), { method: "DELETE" }).catch(() => undefined);
      throw HeddleError.isInstance(error) && error.code === "busy" ? await busyThread(client, threadId, error) : error;
    });
    if (call.out.isJson) await call.out.json({ kind: "request", threadId, requestId });
    await asking.onAccepted?.();
  };
  return follow({ call: call as CommandCall, client, threadId, requestId, interrupts, begin, steering });
}

async function busyThread(client: StudioClient, threadId: string, cause: HeddleError): Promise<CliError> {
  const { request } = await client.get<ThreadDetail>(pathOf(threadId));
  const open = (request?.waiting ?? []).filter(({ kind }) => kind !== "sleep");
  const plain = { paintError: (_style: unknown, text: string) => text }; // the message may become JSON
  const message =
    open.length === 0
      ? `A request runs in thread ${threadId}. Wait until it ends, or watch it: heddle show ${threadId} --follow.`
      : `Thread ${threadId} waits for a decision. ${open.map((one) => howToDecide(plain, threadId, one)).join("\n")}`;
  return new CliError({ code: "busy", exit: EXIT.refused, retryable: true, message, cause });
}

/** Warns if another agent wrote the thread. This is allowed, but usually a mistake. */
async function warnOfOtherAgent({ out }: AskOptions["call"], client: StudioClient, threadId: string): Promise<void> {
  if (client.isServer) return;
  const [{ agent: of }, { agent, agents }] = await Promise.all([
    client.get<ThreadDetail>(pathOf(threadId)),
    client.get<Info>("/api/info"),
  ]);
  if (of !== undefined && !agents.some(({ name }) => name === of)) {
    await out.info(
      `${out.paintError("yellow", "warning:")} this thread belongs to the agent ${of}, but ${agent} answers. Name an agent with --agent.`,
    );
  }
}

export const ask = defineCommand({
  args: "[text...]",
  options: { ...ASK_OPTIONS, ...CLIENT_OPTIONS, ...AGENT_OPTIONS },
  notes: [
    "The answer is written to stdout as it arrives, the tool calls to stderr. Without text, stdin is the question.",
    "At a terminal you are asked to approve a tool call that needs it. Elsewhere the command exits with 4 and says what to do.",
    "Ctrl-C cancels the request and keeps the answer so far; a second one exits at once.",
  ],
  examples: [
    { run: 'heddle ask "What is (17 + 25) * 3?"', does: "start a thread" },
    { run: 'heddle ask --thread last "And times 3?"', does: "continue the newest thread" },
    {
      run: 'heddle ask --json --policy short "Compare the weather in Oslo and Cairo."',
      does: "print one event per line",
    },
  ],
  run: async (call) => {
    const content = await readContent(call.io, call.args);
    const contextPolicy = await policyOption(call);
    return interruptible(call, (interrupts) =>
      withClient(call, { createsStore: true, runsAgent: true }, (client) =>
        askAndFollow({ call, contextPolicy, client, interrupts }, content),
      ),
    );
  },
});
