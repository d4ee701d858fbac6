import type { EntryWindow, ThreadDetail, ThreadRow } from "../../studio/contract.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { JsonObject } from "../../thread/json.ts";
import { AGENT_OPTIONS, CLIENT_OPTIONS, defineCommand, oneOf, SERVER_OPTIONS, wholeNumber } from "../command.ts";
import { badUsage, CliError, EXIT, exitOf } from "../io.ts";
import { readContent } from "../option-values.ts";
import { contentText, Progress } from "../output.ts";
import { serverClient, withClient } from "../studio-client.ts";
import { pathOf, reasonText, sendSteer } from "../studio-requests.ts";

export const cancel = defineCommand({
  args: "<thread>",
  options: { reason: { type: "string", value: "text", help: "recorded with the cancellation" }, ...CLIENT_OPTIONS },
  notes: [
    "A waiting request is cancelled in the store. A running one must be cancelled by the process that runs it: --server.",
  ],
  examples: [
    {
      run: "heddle cancel last --server http://127.0.0.1:4747",
      does: "cancel a running request; the answer so far is kept",
    },
    { run: 'heddle cancel last --reason "not needed any more"', does: "cancel a request that waits for approval" },
  ],
  run: (call) =>
    withClient(call, {}, async (client) => {
      const { out, options, args } = call;
      const id = await client.threadId(args[0] ?? "");
      const { status } = await client.get<ThreadDetail>(pathOf(id));
      if (!client.isServer && status === "running") throw cancelNeedsServer();
      const isOpen = client.isServer || status === "waiting";
      const { cancelled } = isOpen
        ? await client.post<{ readonly cancelled: boolean }>(pathOf(id, "cancel"), { reason: options.reason })
        : { cancelled: false };
      if (out.isJson) await out.json({ threadId: id, cancelled });
      else await out.info(cancelled ? "Cancelled." : "Nothing to cancel: no request is open in this thread.");
      return cancelled ? EXIT.ok : EXIT.refused;
    }),
});

function cancelNeedsServer(): CliError {
  const message =
    "A request is running in this thread, and only the process that runs it can cancel it. Press Ctrl-C there, or name the " +
    "Studio that runs it: --server http://127.0.0.1:4747. If that process has died, heddle studio resumes the request.";
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
    ...SERVER_OPTIONS,
  },
  notes: ["The text must reach the process that runs the request. Name that Studio with --server or HEDDLE_SERVER."],
  examples: [
    {
      run: 'heddle steer last "In euros, please." --server http://127.0.0.1:4747',
      does: "send text before the next model call",
    },
  ],
  run: async (call) => {
    const { io, out, options, args } = call;
    const kind = oneOf(["steer", "follow_up", "inject"], options.kind ?? "steer", "--kind");
    if (kind === "inject" && options.source === undefined) throw badUsage("--kind inject needs --source.");
    const client = serverClient({ io, options });
    if (client === undefined) throw steerNeedsServer();
    const content = await readContent(io, args.slice(1));
    const id = await client.threadId(args[0] ?? "");
    const steered = await sendSteer(client, id, { content, kind, source: options.source });
    if (out.isJson) await out.json(steered);
    if (steered.accepted) return EXIT.ok;
    if (!out.isJson) await out.error(`Not delivered: ${reasonText(steered.reason)}.`);
    return EXIT.refused;
  },
});

function steerNeedsServer(): CliError {
  const message =
    "Only the process that runs a request can take text for it. Run the thread in a Studio (heddle studio) and name it: " +
    "--server http://127.0.0.1:4747";
  return new CliError({ code: "server_needed", exit: EXIT.usage, message });
}

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
      const { rev } = await client.get<ThreadRow>(pathOf(id));
      if (rev === 0) throw badUsage("This thread is empty, so there is nothing to share.");
      const atSeq = wholeNumber(options.at, "--at") ?? rev - 1;
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
