import { createWriteStream } from "node:fs";
import { rename, rm } from "node:fs/promises";
import { extname, resolve } from "node:path";
import { pipeline } from "node:stream/promises";
import type { ThreadRow } from "../answers.ts";
import { pathOf } from "../calls.ts";
import { type Call, defineCommand } from "../command.ts";
import { badUsage, CliError, EXIT } from "../exit.ts";
import { type Interrupts, interruptible } from "../interrupts.ts";
import { PLACE } from "../options.ts";
import { oneOf } from "../parse.ts";
import { at } from "../place.ts";
import { Progress } from "../progress.ts";
import { count } from "../text.ts";

const FORMATS = ["jsonl", "json", "html"] as const;
const EXPORTING = {
  format: { type: "string", value: "format", help: "jsonl, json or html; default: from the file name, else jsonl" },
  output: { type: "string", short: "o", value: "file", help: "default: stdout" },
  ...PLACE,
} as const;

export const exportThread = defineCommand({
  args: "<thread>",
  options: EXPORTING,
  notes: ["JSON and JSON Lines can be imported; past calls can still be rebuilt and proven then. HTML is for reading."],
  examples: [
    { run: "heddle export last -o thread.jsonl", does: "write one line for the thread and one for each entry" },
    { run: "heddle export last --output thread.html", does: "write one page that opens in any browser" },
    { run: "heddle export last --format json", does: "write JSON to stdout" },
  ],
  run: (call) =>
    at(call, {}, async (place) => {
      const { io, out, options, args } = call;
      const format = formatOf(call);
      if (out.isJson && options.output === undefined && format !== "json")
        throw badUsage("--json without --output prints the format json. For another format, leave --json out.");
      const id = await place.threadId(args[0] ?? "");
      const { rev } = await place.get<ThreadRow>(pathOf(id));
      const { body } = await place.open(pathOf(id, "export"), { format });
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
        for await (const chunk of chunks) await io.stdout.write(decoder.decode(chunk, { stream: true }));
        await progress.end();
        return undefined;
      }
      const path = resolve(io.cwd, options.output);
      await interruptible(call, (interrupts) => written(path, chunks, interrupts)).catch((cause: unknown) =>
        unwritable(options.output, cause),
      );
      await progress.end();
      if (out.isJson) await out.json({ threadId: id, format, file: options.output, entries: rev, bytes });
      await out.say(`${count(rev, "entry", "entries")} written to ${options.output}.`);
      return undefined;
    }),
});

function formatOf({ options, out }: Call<typeof EXPORTING>): (typeof FORMATS)[number] {
  if (options.format !== undefined) return oneOf(FORMATS, options.format, "--format");
  const ending = extname(options.output ?? "").slice(1);
  return FORMATS.find((format) => format === ending) ?? (out.isJson && options.output === undefined ? "json" : "jsonl");
}

/** Writes to a `.part` file and renames it at the end, so that an interrupt leaves no incomplete file. */
async function written(path: string, chunks: AsyncIterable<Uint8Array>, interrupts: Interrupts): Promise<void> {
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
