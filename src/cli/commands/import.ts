import type { ThreadStore } from "../../stores/port.ts";
import { rowOf } from "../../studio/threads/row.ts";
import { readImport, saveImport } from "../../studio/transfer/import.ts";
import { HeddleError } from "../../thread/errors.ts";
import type { Thread } from "../../thread/thread.ts";
import type { ThreadRow } from "../answers.ts";
import { type Call, defineCommand } from "../command.ts";
import { badUsage, CliError, EXIT } from "../exit.ts";
import { bytesGiven, type GivenBytes } from "../given.ts";
import { type Interrupts, interruptible } from "../interrupts.ts";
import { PLACE } from "../options.ts";
import { oneOf } from "../parse.ts";
import { at, LocalPlace, type Place } from "../place.ts";
import { megabytes, Progress } from "../progress.ts";
import { count } from "../text.ts";

const FORMATS = ["jsonl", "json", "neutral", "openai-chat", "anthropic", "model-messages", "ui-messages"] as const;

const IMPORTING = {
  format: { type: "string", value: "format", help: `${FORMATS.join(", ")}; default: detected from the content` },
  ...PLACE,
} as const;

export const importThread = defineCommand({
  args: "[file]",
  options: IMPORTING,
  notes: [
    "Without a file, or with `-`, stdin is read. Nothing is overwritten: if the id is taken, the thread gets a new one.",
  ],
  examples: [
    { run: "heddle import thread.jsonl", does: "import an export; prints the id of the thread" },
    { run: "heddle import messages.json --format openai-chat", does: "import a list of messages" },
  ],
  run: (call) =>
    at(call, { creates: true }, async (place) => {
      const { out, options, args } = call;
      const format = options.format === undefined ? undefined : oneOf(FORMATS, options.format, "--format");
      const given = await givenBytes(call, args[0]);
      const row = await (place instanceof LocalPlace
        ? read(call, given).then((text) => saved(call, place, text, format))
        : uploaded(call, place, given, format)
      ).catch((error: unknown) => refused(error, args[0]));
      await (out.isJson ? out.json(row) : out.data(row.id));
      await out.say(out.talk("dim", `${row.title} · ${count(row.rev, "entry", "entries")}`));
      return undefined;
    }),
});

type Importing = Call<typeof IMPORTING>;

async function givenBytes({ io }: Importing, file: string | undefined): Promise<GivenBytes> {
  if (file === undefined && io.stdinIsTerminal) throw badUsage("Name the file to import, or pipe it in.");
  const given =
    file === undefined || file === "-" ? { chunks: io.bytes(), size: undefined } : await bytesGiven(io, file);
  if (given.size === 0) throw nothing();
  return given;
}

function nothing(): CliError {
  return badUsage("There is nothing to import: the file is empty.");
}

async function* counted(
  { chunks, size }: GivenBytes,
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

async function read({ io, out }: Importing, given: GivenBytes): Promise<string> {
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
  throw nothing();
}

/** Streams the file, so that this process never holds all of it. */
async function uploaded(
  { io, out }: Importing,
  place: Place,
  given: GivenBytes,
  format: string | undefined,
): Promise<ThreadRow> {
  const progress = new Progress(out, "sending", io, megabytes);
  const ended = new AbortController();
  const headers = given.size === undefined ? {} : { "content-length": String(given.size) };
  try {
    const body = ReadableStream.from(counted(given, progress, ended.signal));
    const answer = await place.open("/api/import", { format }, { method: "POST", body, headers, duplex: "half" });
    return (await answer.json()) as ThreadRow; // the route defines the type of the answer
  } finally {
    ended.abort(); // the Studio may refuse before all is sent
    await progress.end();
  }
}

/** The server's message names the request body. The user knows the file, so this names the file. */
function refused(error: unknown, file: string | undefined): never {
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

/** Saves in batches. An interrupted import is removed. */
async function saved(call: Importing, place: LocalPlace, text: string, format: string | undefined): Promise<ThreadRow> {
  const thread = await readImport(place.studio, [text], format);
  await interruptible(call, (interrupts) => save(call, place.store, thread, interrupts));
  return rowOf(place.studio, thread);
}

async function save({ io, out }: Importing, store: ThreadStore, thread: Thread, interrupts: Interrupts): Promise<void> {
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
