import type { WaitingCall } from "../../agent/react/agent.ts";
import type { Info, ThreadDetail } from "../../studio/contract.ts";
import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import { AGENT_OPTIONS, CLIENT_OPTIONS, type CommandCall, type CommandOptions, defineCommand } from "../command.ts";
import { asJson, callText } from "../decision-prompt.ts";
import { follow } from "../follow.ts";
import { type Interrupts, interruptible } from "../interrupts.ts";
import { badUsage, CliError, EXIT, type Io } from "../io.ts";
import { readJson } from "../option-values.ts";
import { type StudioClient, withClient } from "../studio-client.ts";
import { pathOf } from "../studio-requests.ts";

export const DECISION_OPTIONS = {
  detach: { type: "boolean", help: "with --server: do not wait for the end of the request" },
  ...CLIENT_OPTIONS,
  ...AGENT_OPTIONS,
} as const satisfies CommandOptions;

interface Decision {
  readonly verdict: "approve" | "deny" | "answer";
  readonly toolCallId: string | undefined;
  readonly body: object;
}

/** Decides on a waiting tool call, and follows its request to the end. Returns the exit code. */
export function decide(call: CommandCall<typeof DECISION_OPTIONS>, given: string, decision: Decision): Promise<number> {
  return interruptible(call, (interrupts) => decideWhile(interrupts, call, given, decision));
}

async function decideWhile(
  interrupts: Interrupts,
  call: CommandCall<typeof DECISION_OPTIONS>,
  given: string,
  decision: Decision,
): Promise<number> {
  const { out, options } = call;
  const { verdict, body } = decision;
  // `interruptible` handles Ctrl-C until this promise settles, so the request is awaited.
  return withClient(call, { runsAgent: true }, async (client) => {
    if (options.detach === true && !client.isServer)
      throw badUsage("--detach needs --server: without a Studio, no process would continue the request.");
    const threadId = await client.threadId(given);
    const { request } = await client.get<ThreadDetail>(pathOf(threadId));
    const waiting = waitingCallFor(request?.waiting ?? [], decision);
    if (request === undefined) throw nothingWaits();
    await checkTools(client, request);
    const runs = "arguments" in body ? { name: waiting.name, arguments: body.arguments as JsonValue } : waiting; // read as JSON
    await out.info(out.paintError("dim", `${verdict}: ${callText(out, runs)}`));
    const requestId = request.id;
    const begin = async (): Promise<void> => {
      await client.post(pathOf(threadId, verdict), { toolCallId: waiting.toolCallId, by: "command line", ...body });
    };
    if (options.detach !== true)
      return follow({ call: call as unknown as CommandCall, client, threadId, requestId, interrupts, begin });
    await begin();
    if (out.isJson) await out.json({ threadId, requestId, toolCallId: waiting.toolCallId, verdict });
    return EXIT.ok;
  });
}

function waitingCallFor(waiting: readonly WaitingCall[], { verdict, toolCallId }: Decision): WaitingCall {
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

const WAITS_FOR = { answer: "its result", approval: "approval", sleep: "its time" } as const;

function nothingWaits(waiting: readonly WaitingCall[] = []): CliError {
  const others = waiting.map(({ toolCallId, kind }) => `${toolCallId} for ${WAITS_FOR[kind]}`);
  const message = `No such call waits in this thread.${others.length === 0 ? "" : ` Waiting: ${others.join(", ")}.`}`;
  return new CliError({ code: "not_waiting", exit: EXIT.refused, message });
}

/** Throws if the agent lacks a waiting tool. The tools run in this process, so the request would fail. */
async function checkTools(client: StudioClient, request: NonNullable<ThreadDetail["request"]>): Promise<void> {
  if (client.isServer) return;
  const info = await client.get<Info>("/api/info");
  const { name: agent, tools } = info.agents.find(({ name }) => name === request.agent) ?? {
    name: info.agent,
    tools: info.tools.map(({ name }) => name),
  };
  const missing = request.waiting.find(({ name }) => !tools.includes(name));
  if (missing === undefined) return;
  const message = `The agent ${agent} has no tool ${missing.name}. Name the agent of this thread with --agent, or a Studio with --server.`;
  throw new CliError({ code: "tool_missing", exit: EXIT.refused, message });
}

const REMEMBER_HELP = 'request, lane, thread, or a rule as JSON: {"pattern":{"to":"Ada"},"scope":"thread"}';

const VERDICT_OPTIONS = {
  reason: { type: "string", value: "text", help: "recorded with the decision" },
  remember: { type: "string", value: "rule", help: `decide later calls of the tool too: ${REMEMBER_HELP}` },
  ...DECISION_OPTIONS,
} as const satisfies CommandOptions;

const APPROVE_OPTIONS = {
  arguments: { type: "string", value: "json", help: "run the call with these arguments; @file reads them from a file" },
  ...VERDICT_OPTIONS,
} as const satisfies CommandOptions;

export const approve = decisionCommand("approve", APPROVE_OPTIONS, [
  { run: 'heddle approve last --reason "within the budget"', does: "run the waiting call of the newest thread" },
  { run: `heddle approve last --arguments '{"to":"Ada","euros":5}'`, does: "run it with other arguments" },
  { run: "heddle approve last --remember thread", does: "run it, and later calls of this tool in the thread" },
]);

export const deny = decisionCommand("deny", VERDICT_OPTIONS, [
  { run: 'heddle deny last --reason "not this month"', does: "refuse the waiting call; the model gets a denial" },
]);

/** The range of a rule for the tool of the call, or the rule. The host checks it. */
async function ruleOf(io: Io, text: string): Promise<JsonValue> {
  if (["request", "lane", "thread"].includes(text)) return { scope: text };
  const rule = await readJson(io, text, `--remember must be ${REMEMBER_HELP}.`);
  if (isPlainObject(rule)) return rule;
  throw badUsage(`--remember must be ${REMEMBER_HELP}.`);
}

function decisionCommand(
  verdict: "approve" | "deny",
  options: typeof VERDICT_OPTIONS | typeof APPROVE_OPTIONS,
  examples: readonly { readonly run: string; readonly does: string }[],
) {
  return defineCommand({
    args: "<thread> [tool-call]",
    options: options as typeof APPROVE_OPTIONS, // `deny` has no arguments: the parser refuses them
    notes: [
      "The request continues in this process, and its answer is written to stdout. The id of the call is needed only if",
      "several calls wait.",
    ],
    examples,
    run: async (call) => {
      const [thread = "", toolCallId] = call.args;
      const { reason, remember, arguments: edited } = call.options;
      const body = {
        reason,
        ...(remember !== undefined && { remember: await ruleOf(call.io, remember) }),
        ...(edited !== undefined && {
          arguments: await readJson(call.io, edited, "--arguments must be JSON, or @file.json."),
        }),
      };
      return decide(call, thread, { verdict, toolCallId, body });
    },
  });
}

export const answer = defineCommand({
  args: "<thread> <tool-call> <output>",
  options: DECISION_OPTIONS,
  notes: [
    "For tools without `execute`, whose result comes from outside. <output> is JSON or text; `-` reads it from stdin.",
  ],
  examples: [
    {
      run: `heddle answer last call_1 '{"celsius":4}' --agent agent.ts`,
      does: "continue the request with this result",
    },
  ],
  run: async (call) => {
    const [thread = "", toolCallId, output = ""] = call.args;
    const text = output === "-" ? (await call.io.text()).trim() : output;
    return decide(call, thread, { verdict: "answer", toolCallId, body: { output: asJson(text) } });
  },
});
