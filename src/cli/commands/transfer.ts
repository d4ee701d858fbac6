import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ThreadStore } from "../../stores/port.ts";
import type { ThreadRow } from "../../studio/contract.ts";
import { readImport, saveImport } from "../../studio/routes/import.ts";
import { rowOf } from "../../studio/routes/thread.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { Thread } from "../../thread/thread.ts";
import { CLIENT_OPTIONS, type CommandCall, defineCommand, oneOf } from "../command.ts";
import { type Interrupts, interruptible } from "../interrupts.ts";
import { badUsage, CliError, EXIT } from "../io.ts";
import { type ByteSource, openFile } from "../option-values.ts";
import { count, megabytes, Progress } from "../output.ts";
import { LocalStudioClient, type StudioClient, withClient } from "../studio-client.ts";
import { pathOf } from "../studio-requests.ts";

const EXPORT_FORMATS = ["jsonl", "json", "html"] as const;
const EXPORT_OPTIONS = {
  format: { type: "string", value: "format", help: "jsonl, json or html; default: from the file name, else jsonl" },
  output: { type: "string", short: "o", value: "file", help: "default: stdout" },
  ...CLIENT_OPTIONS,
} as const;

export const exportThread = defineCommand({
  args: "<thread>",
  options: EXPORT_OPTIONS,
  notes: [
    "JSON and JSON Lines can be imported; past calls can still be rebuilt and proven then. HTML is for reading.",
    "Asks and other commands that wait in the inbox are not exported. A warning counts them, but not with --server.",
  ],
  examples: [
    { run: "heddle export last -o thread.jsonl", does: "write one line for the thread and one for each entry" },
    { run: "heddle export last --output thread.html", does: "write one page that opens in any browser" },
    { run: "heddle export last --format json", does: "write JSON to stdout" },
  ],
  run: (call) =>
    withClient(call, {}, async (client) => {
      const { io, out, options, args } = call;
      const format = formatOf(call);
      if (out.isJson && options.output === undefined && format !== "json")
        throw badUsage("--json without --output prints the format json. For another format, leave --json out.");
      const id = await client.threadId(args[0] ?? "");
      const waiting = client instanceof LocalStudioClient ? await client.store.pending(id) : []; // a server does not list them
      const wait = `${count(waiting.length, "command waits", "commands wait")} in the inbox: heddle show ${id}`;
      const { rev } = await client.get<ThreadRow>(pathOf(id)).catch((error: unknown) => {
        if (waiting.length === 0 || !HeddleError.isInstance(error) || error.code !== "thread_not_found") throw error;
        const message = `Thread ${id} has no entries to export. ${wait}`;
        throw new CliError({ code: error.code, exit: EXIT.notFound, message, cause: error });
      });
      if (waiting.length > 0)
        await out.info(`${out.paintError("yellow", "warning:")} ${wait}. They are not in the export.`);
      const { body } = await client.open(pathOf(id, "export"), { format });
      const progress = new Progress(out, "exporting", io);
      let [entries, bytes] = [0, 0];
      const counted = async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          bytes += chunk.byteLength;
          entries = Math.min(rev, entries + newlinesIn(chunk));
          await progress.at(entries, rev);
          yield chunk;
        }
      };
      const chunks = counted(body ?? new ReadableStream<Uint8Array>());
      if (options.output === undefined) {
        const decoder = new TextDecoder();
        for await (const chunk of chunks) await out.raw(decoder.decode(chunk, { stream: true }));
        await progress.end();
        return undefined;
      }
      const path = resolve(io.cwd, options.output);
      await interruptible(call, (interrupts) => writeFile(path, chunks, interrupts)).catch((cause: unknown) =>
        unwritable(options.output, cause),
      );
      await progress.end();
      if (out.isJson) await out.json({ threadId: id, format, file: options.output, entries: rev, bytes });
      await out.info(`${count(rev, "entry", "entries")} written to ${options.output}.`);
      return undefined;
    }),
});

function formatOf({ options, out }: CommandCall<typeof EXPORT_OPTIONS>): (typeof EXPORT_FORMATS)[number] {
  if (options.format !== undefined) return oneOf(EXPORT_FORMATS, options.format, "--format");
  const ending = extname(options.output ?? "").slice(1);
  return (
    EXPORT_FORMATS.find((format) => format === ending) ??
    (out.isJson && options.output === undefined ? "json" : "jsonl")
  );
}

/** Writes to a `.part` file and renames it at the end, so that an interrupt leaves no incomplete file. */
async function writeFile(path: string, chunks: AsyncIterable<Uint8Array>, interrupts: Interrupts): Promise<void> {
  const part = `${path}.part`;
  const checked = async function* () {
    for await (const chunk of chunks) {
      interrupts.check();
      yield chunk;
    }
  };
  try {
    await pipeline(checked, createWriteStream(part));
    await rename(part, path);
  } catch (error) {
    await rm(part, { force: true });
    throw error;
  }
}

function unwritable(file: string | undefined, cause: unknown): never {
  const { code } = cause as { readonly code?: unknown };
  if (typeof code !== "string" || !/^E[A-Z]+$/.test(code)) throw cause;
  const why = code === "ENOENT" ? "its folder does not exist" : code === "EACCES" ? "permission denied" : code;
  const message = `${file} cannot be written: ${why}. Name another --output.`;
  throw new CliError({ code: "file_unwritable", exit: EXIT.failed, message, cause });
}

function newlinesIn(chunk: Uint8Array): number {
  let found = 0;
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) found++;
  return found;
}

const IMPORT_FORMATS = [
  "jsonl",
  "json",
  "neutral",
  "openai-chat",
  "anthropic",
  "model-messages",
  "ui-messages",
] as const;

const IMPORT_OPTIONS = {
  format: { type: "string", value: "format", help: `${IMPORT_FORMATS.join(", ")}; default: detected from the content` },
  ...CLIENT_OPTIONS,
} as const;

export const importThread = defineCommand({
  args: "[file]",
  options: IMPORT_OPTIONS,
  notes: [
    "Without a file, or with `-`, stdin is read. Nothing is overwritten: if the id is taken, the thread gets a new one.",
  ],
  examples: [
    { run: "heddle import thread.jsonl", does: "import an export; prints the id of the thread" },
    { run: "heddle import messages.json --format openai-chat", does: "import a list of messages" },
  ],
  run: (call) =>
    withClient(call, { createsStore: true }, async (client) => {
      const { out, options, args } = call;
      const format = options.format === undefined ? undefined : oneOf(IMPORT_FORMATS, options.format, "--format");
      const given = await inputBytes(call, args[0]);
      const row = await (client instanceof LocalStudioClient
        ? readAll(call, given).then((text) => saveAll(call, client, text, format))
        : upload(call, client, given, format)
      ).catch((error: unknown) => refuse(error, args[0]));
      await (out.isJson ? out.json(row) : out.data(row.id));
      await out.info(out.paintError("dim", `${row.title} · ${count(row.rev, "entry", "entries")}`));
      return undefined;
    }),
});

type ImportCall = CommandCall<typeof IMPORT_OPTIONS>;

async function inputBytes({ io }: ImportCall, file: string | undefined): Promise<ByteSource> {
  if (file === undefined && io.stdinIsTerminal) throw badUsage("Name the file to import, or pipe it in.");
  const given = file === undefined || file === "-" ? { chunks: io.bytes(), size: undefined } : await openFile(io, file);
  if (given.size === 0) throw emptyInput();
  return given;
}

function emptyInput(): CliError {
  return badUsage("There is nothing to import: the file is empty.");
}

async function* counted(
  { chunks, size }: ByteSource,
  progress: Progress,
  ended?: AbortSignal,
): AsyncGenerator<Uint8Array, void> {
  let bytes = 0;
  for await (const chunk of chunks) {
    if (ended?.aborted) return;
    bytes += chunk.byteLength;
    await progress.at(bytes, size);
    yield chunk;
  }
}

async function readAll({ io, out }: ImportCall, given: ByteSource): Promise<string> {
  const progress = new Progress(out, "reading", io, megabytes);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const parts: string[] = [];
  try {
    for await (const chunk of counted(given, progress)) parts.push(decoder.decode(chunk, { stream: true }));
    parts.push(decoder.decode());
    const text = parts.join("");
    if (text.trim() !== "") return text;
  } catch (cause) {
    const why = cause instanceof RangeError ? "is larger than this process can hold" : "cannot be read as UTF-8 text";
    throw new CliError({
      code: "file_unreadable",
      exit: EXIT.failed,
      message: `The input ${why}.`,
      cause,
    });
  } finally {
    await progress.end();
  }
  throw emptyInput();
}

/** Sends the file as a stream, so that it is never completely in memory. */
async function upload(
  { io, out }: ImportCall,
  client: StudioClient,
  given: ByteSource,
  format: string | undefined,
): Promise<ThreadRow> {
  const progress = new Progress(out, "sending", io, megabytes);
  const ended = new AbortController();
  const length = given.size === undefined ? {} : { "content-length": String(given.size) };
  const headers = { "content-type": "application/octet-stream", ...length };
  try {
    const body = ReadableStream.from(counted(given, progress, ended.signal));
    const answer = await client.open("/api/import", { format }, { method: "POST", body, headers, duplex: "half" });
    return (await answer.json()) as ThreadRow; // the route defines the type of the answer
  } finally {
    ended.abort(); // the server may refuse before the whole file is sent
    await progress.end();
  }
}

/** Rewrites an error message about the request body, so that it names the file instead. */
function refuse(error: unknown, file: string | undefined): never {
  if (!HeddleError.isInstance(error)) throw error;
  const { code, message, retryable } = error;
  const name = file === undefined || file === "-" ? "The input" : file;
  if (code === "body_too_large") {
    const limit = /\d+ [KMG]iB/.exec(message)?.[0];
    const most = limit === undefined ? "this Studio accepts" : `the ${limit} that this Studio accepts`;
    const how = `Import it where the store is: heddle import ${file ?? "-"} --store <url>`;
    throw new CliError({
      ...{ code, retryable, exit: EXIT.usage },
      message: `${name} is larger than ${most}. ${how}`,
      cause: error,
    });
  }
  const renamed = message.replace(/^The body\b/, name).replace(/^options\.format\b/, "--format");
  if (renamed === message) throw error;
  throw new CliError({ code, exit: EXIT.usage, message: renamed, cause: error });
}

/** Saves a thread in batches. After Ctrl-C, the part already saved is deleted. */
async function saveAll(
  call: ImportCall,
  client: LocalStudioClient,
  text: string,
  format: string | undefined,
): Promise<ThreadRow> {
  const thread = await readImport(client.studio, [text], format);
  await interruptible(call, (interrupts) => save(call, client.store, thread, interrupts));
  return rowOf(client.studio, thread);
}

async function save(
  { io, out }: ImportCall,
  store: ThreadStore,
  thread: Thread,
  interrupts: Interrupts,
): Promise<void> {
  const progress = new Progress(out, "importing", io);
  try {
    await saveImport(store, thread, async (done, all) => {
      await progress.at(done, all);
      interrupts.check();
    });
  } finally {
    await progress.end();
  }
}
