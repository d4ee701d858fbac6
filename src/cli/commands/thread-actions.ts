import { RemoteCalls } from "../../runtime/host/remote-calls.ts";
import { runtimePorts } from "../../runtime/ports.ts";
import { ThreadHeldError } from "../../stores/errors.ts";
import type { CancelResult, EntryWindow, Info, SteerResult, ThreadDetail, ThreadRow } from "../../studio/contract.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import { AGENT_OPTIONS, CLIENT_OPTIONS, defineCommand, oneOf, wholeNumber } from "../command.ts";
import { badUsage, CliError, EXIT, exitOf } from "../io.ts";
import { readContent } from "../option-values.ts";
import { contentText, Progress } from "../output.ts";
import { LocalStudioClient, type StudioClient, withClient } from "../studio-client.ts";
import { pathOf, reasonText, type SteerText, sendSteer } from "../studio-requests.ts";

export const cancel = defineCommand({
  args: "<thread> [request]",
  options: {
    reason: { type: "string", value: "text", help: "recorded with the cancellation" },
    ...CLIENT_OPTIONS,
    agent: { ...AGENT_OPTIONS.agent, help: "the module of the agent; needed if no process serves the agent now" },
  },
  notes: [
    "Works from any process: the one that runs the request, or serves its agent, takes the call from the store.",
    "If the request waits and no process serves its agent, name the module with --agent.",
    "If no request is open, the ask that waits in the inbox is withdrawn. [request] is the id of an ask; `heddle show` lists",
    "those that wait, also the ones with a time.",
  ],
  examples: [
    { run: "heddle cancel last", does: "cancel a request that runs or waits; the answer so far is kept" },
    { run: 'heddle cancel last --reason "not needed any more"', does: "record the reason" },
  ],
  run: (call) =>
    withClient(call, {}, async (client) => {
      const { out, options, args } = call;
      const id = await client.threadId(args[0] ?? "");
      const target = { threadId: id, requestId: args[1], reason: options.reason };
      const cancelled = await (client instanceof LocalStudioClient
        ? cancelInStore(client, target)
        : cancelHere(client, target));
      if (out.isJson) await out.json({ threadId: id, cancelled });
      else await out.info(cancelled ? "Cancelled." : "Nothing to cancel: no request is open in this thread.");
      return cancelled ? EXIT.ok : EXIT.refused;
    }),
});

interface CancelTarget {
  readonly threadId: string;
  /** Default: the open request, else the only ask that waits. */
  readonly requestId: string | undefined;
  readonly reason: string | undefined;
}

async function cancelHere(client: StudioClient, { threadId, ...body }: CancelTarget): Promise<boolean> {
  return (await client.post<CancelResult>(pathOf(threadId, "cancel"), body)).cancelled;
}

async function cancelInStore(client: LocalStudioClient, target: CancelTarget): Promise<boolean> {
  const { threadId, requestId, reason } = target;
  const asks = (await client.store.pending(threadId)).filter(({ type }) => type === "ask");
  const detail = await client.get<ThreadDetail>(pathOf(threadId)).catch((error: unknown) => {
    if (asks.length > 0 && HeddleError.isInstance(error) && error.code === "thread_not_found") return undefined;
    throw error;
  });
  const { status, request } = detail ?? {};
  const [first, second] = asks.filter(({ id }) => id === requestId || (requestId ?? request) === undefined);
  if (second !== undefined)
    throw badUsage(
      `Several asks wait. Name one: ${asks.map(({ id }) => `heddle cancel ${threadId} ${id}`).join(", ")}`,
    );
  if (first !== undefined) {
    await client.store.withdraw(threadId, first.id);
    return true;
  }
  if (requestId !== undefined && requestId !== request?.id) return false;
  const send = async (calls: RemoteCalls, held: ThreadHeldError): Promise<boolean> => {
    const args = [await calls.openId(threadId), reason];
    return (await calls.call(threadId, { method: "cancel", args }, held))["value"] === true;
  };
  if (status === "running") return sendToHolder(client, threadId, send);
  if (status !== "waiting") return false;
  const { agent } = request ?? {};
  const { agents } = await client.get<Info>("/api/info");
  if (agent === undefined || agents.some(({ name }) => name === agent)) return cancelHere(client, target);
  // A host or a worker that serves the agent takes the call. Without one, nothing is left in the inbox.
  return withCalls(client, (calls) => send(calls, new ThreadHeldError(threadId, agent, 0))).catch((error: unknown) => {
    throw ThreadHeldError.isInstance(error) ? agentNeeded(threadId, agent) : error;
  });
}

function agentNeeded(threadId: string, agent: string): CliError {
  const message = `Thread ${threadId} has the agent ${JSON.stringify(agent)}, and no process that serves it took the cancel. Name its module: heddle cancel ${threadId} --agent <file>`;
  return new CliError({ code: "unknown_agent", exit: EXIT.usage, message });
}

const STEERS = { steer: "steer", follow_up: "followUp", inject: "inject" } as const;

async function steerElsewhere(client: StudioClient, threadId: string, text: SteerText): Promise<SteerResult> {
  const { content, kind, source } = text;
  return sendToHolder(client, threadId, async (calls, held) => {
    const options = { id: runtimePorts().ids("steer"), ...(source !== undefined && { source }) };
    const { value } = await calls.call(threadId, { method: STEERS[kind], args: [content, options] }, held);
    const { id, accepted, reason } = calls.steered(threadId, value);
    return { id, accepted, ...(reason !== undefined && { reason }) };
  });
}

/** Sends a call to the process that runs a thread of this store. This process never takes the thread, because it has no model. */
async function sendToHolder<Answer>(
  client: StudioClient,
  threadId: string,
  send: (calls: RemoteCalls, held: ThreadHeldError) => Promise<Answer>,
): Promise<Answer> {
  if (!(client instanceof LocalStudioClient)) throw nothingRunsIt();
  const { store } = client;
  try {
    const { epoch } = await store.claim(threadId, { holder: "heddle", ttlMs: 1_000 });
    await store.release(threadId, epoch);
  } catch (error) {
    if (!ThreadHeldError.isInstance(error)) throw error;
    return withCalls(client, (calls) => send(calls, error));
  }
  throw nothingRunsIt();
}

async function withCalls<Answer>(
  { store }: LocalStudioClient,
  work: (calls: RemoteCalls) => Promise<Answer>,
): Promise<Answer> {
  const stopped = new AbortController();
  const takeOver = async (): Promise<void> => undefined;
  const options = { store, ports: runtimePorts(), stopped: stopped.signal, limitMs: LIMIT_MS, takeOver };
  try {
    return await work(new RemoteCalls(options));
  } finally {
    stopped.abort();
  }
}

/** How long the process that runs a request may leave a call unanswered. */
const LIMIT_MS = 5_000;

function nothingRunsIt(): CliError {
  const message =
    "The process that ran this request has died. Start one that resumes it, for example heddle studio, and name it: " +
    "--server http://127.0.0.1:4747";
  return new CliError({ code: "server_needed", exit: EXIT.usage, message });
}

export const steer = defineCommand({
  args: "<thread> [text...]",
  options: {
    kind: {
      type: "string",
      value: "kind",
      help: "steer (default): before the next model call; follow_up: when the request is done; inject: from another source",
    },
    source: { type: "string", value: "name", help: "with --kind inject: the name of the source" },
    ...CLIENT_OPTIONS,
  },
  notes: ["Works from any process: the one that runs the request takes the text from the store."],
  examples: [{ run: 'heddle steer last "In euros, please."', does: "send text before the next model call" }],
  run: (call) => {
    const { io, out, options, args } = call;
    const kind = oneOf(["steer", "follow_up", "inject"], options.kind ?? "steer", "--kind");
    if (kind === "inject" && options.source === undefined) throw badUsage("--kind inject needs --source.");
    return withClient(call, {}, async (client) => {
      const content = await readContent(io, args.slice(1));
      const id = await client.threadId(args[0] ?? "");
      const { status } = await client.get<ThreadDetail>(pathOf(id));
      const text = { content, kind, source: options.source };
      const idle: SteerResult = { id: "", accepted: false, reason: "idle" };
      const isHere = client.isServer;
      const isRunning = status === "running";
      const steered = isHere
        ? await sendSteer(client, id, text)
        : isRunning
          ? await steerElsewhere(client, id, text)
          : idle;
      if (out.isJson) await out.json(steered);
      if (steered.accepted) return EXIT.ok;
      if (!out.isJson) await out.error(`Not delivered: ${reasonText(steered.reason)}.`);
      return EXIT.refused;
    });
  },
});

const LONG_COPY = 10_000;

export const fork = defineCommand({
  args: "<thread>",
  options: {
    at: { type: "string", value: "seq", help: "the last shared entry; default: the last entry of the thread" },
    title: { type: "string", value: "text", help: "title of the fork" },
    ...CLIENT_OPTIONS,
  },
  notes: ["Prints the id of the new thread on stdout. A request that is open at that entry is closed in the fork."],
  examples: [
    { run: "heddle fork last --at 0 --title 'Another try'", does: "make a thread that shares only the first entry" },
  ],
  run: (call) =>
    withClient(call, {}, async (client) => {
      const { io, out, options, args } = call;
      const id = await client.threadId(args[0] ?? "");
      const at = wholeNumber(options.at, "--at");
      const atSeq = at ?? (await client.get<ThreadRow>(pathOf(id))).rev - 1;
      if (atSeq < 0) throw badUsage("This thread is empty, so there is nothing to share.");
      const progress = new Progress(out, "forking", io);
      if (atSeq >= LONG_COPY) await progress.at(0, atSeq + 1); // shown first, because a local store may block this process while it copies
      const forking = client.post<ThreadRow>(pathOf(id, "fork"), { atSeq, title: options.title });
      const row = await progress.during(forking);
      await (out.isJson ? out.json(row) : out.data(row.id));
      await out.info(
        out.paintError("dim", `The fork shares ${atSeq === 0 ? "entry 0" : `the entries 0 to ${atSeq}`} with ${id}.`),
      );
      return undefined;
    }),
});

export const summarize = defineCommand({
  args: "<thread>",
  options: {
    from: { type: "string", value: "seq", help: "the first entry; default: after the last summary" },
    to: { type: "string", value: "seq", help: "the last entry; default: before the turns that the policy keeps" },
    ...CLIENT_OPTIONS,
    ...AGENT_OPTIONS,
  },
  notes: [
    "Writes the summary to stdout. The entries stay in the log; the model gets the summary instead of them from now on.",
  ],
  examples: [{ run: "heddle summarize last --to 3", does: "summarize the first entries of the newest thread" }],
  run: (call) =>
    withClient(call, { runsAgent: true }, async (client) => {
      const { io, out, options, args } = call;
      const id = await client.threadId(args[0] ?? "");
      const { status } = await client.get<ThreadDetail>(pathOf(id));
      if (!client.isServer && (status === "running" || status === "waiting")) throw busy(status);
      const range = { fromSeq: wholeNumber(options.from, "--from"), toSeq: wholeNumber(options.to, "--to") };
      const writing = client.post<{ readonly seq: number }>(pathOf(id, "summarize"), range);
      const { seq } = await new Progress(out, "summarizing", io).during(writing).catch(inOptions);
      const { entries } = await client.get<EntryWindow>(pathOf(id, "entries"), { from: seq, to: seq });
      const { content, fromSeq, toSeq } = (entries[0]?.payload ?? {}) as JsonObject; // every entry payload is a JSON object
      if (out.isJson) await out.json({ threadId: id, seq, fromSeq, toSeq, content });
      else await out.data(contentText(content));
      await out.info(out.paintError("dim", `Entry ${seq} replaces the entries ${fromSeq} to ${toSeq} in the context.`));
      return undefined;
    }),
});

/** Replaces the API's field names in an error message by the option names of the command line. */
function inOptions(error: unknown): never {
  if (!HeddleError.isInstance(error) || !/\b(from|to)Seq\b/.test(error.message)) throw error;
  const message = error.message.replaceAll(/\b(from|to)Seq\b/g, "--$1");
  throw new CliError({ code: error.code, exit: exitOf(error), message, cause: error });
}

function busy(status: string): CliError {
  const message = `A request is ${status} in this thread. Wait for its end, or name the Studio that runs it with --server.`;
  return new CliError({ code: "busy", exit: EXIT.refused, retryable: true, message });
}
