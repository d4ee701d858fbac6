import { rowOf } from "../../studio/threads/row.ts";
import { readImport, saveImport } from "../../studio/transfer/import.ts";
import type { ThreadRow } from "../answers.ts";
import { type Call, defineCommand } from "../command.ts";
import { badUsage } from "../exit.ts";
import { fileGiven } from "../given.ts";
import { PLACE } from "../options.ts";
import { oneOf } from "../parse.ts";
import { at, LocalPlace } from "../place.ts";
import { Progress } from "../progress.ts";
import { count } from "../text.ts";

const FORMATS = ["jsonl", "json", "neutral", "openai-chat", "anthropic", "model-messages", "ui-messages"] as const;

const IMPORTING = {
  format: { type: "string", value: "format", help: `${FORMATS.join(", ")}; default by what it looks like` },
  ...PLACE,
} as const;

export const importThread = defineCommand({
  args: "[file]",
  options: IMPORTING,
  notes: [
    "Without a file, or with `-`, from stdin. Nothing is overwritten: where the id is taken, the thread gets another.",
  ],
  examples: [
    { run: "heddle import thread.jsonl", does: "its id is the one line on stdout" },
    { run: "heddle import messages.json --format openai-chat", does: "a list of messages" },
  ],
  run: (call) =>
    at(call, { creates: true }, async (place) => {
      const { io, out, options, args } = call;
      const format = options.format === undefined ? undefined : oneOf(FORMATS, options.format, "--format");
      const text = await givenText(call, args[0]);
      const row =
        place instanceof LocalPlace
          ? await saved(place, text, format, new Progress(out, "importing", io.now))
          : ((await (await place.open("/api/import", { format }, { method: "POST", body: text })).json()) as ThreadRow);
      await (out.isJson ? out.json(row) : out.data(row.id));
      await out.say(out.talk("dim", `${row.title} · ${count(row.rev, "entry", "entries")}`));
      return undefined;
    }),
});

async function givenText({ io }: Call<typeof IMPORTING>, file: string | undefined): Promise<string> {
  if (file === undefined && io.stdinIsTerminal) throw badUsage("Name the file to import, or pipe it in.");
  const text = file === undefined || file === "-" ? await io.text() : await fileGiven(io, file);
  if (text.trim() !== "") return text;
  throw badUsage("There is nothing to import: the file is empty.");
}

async function saved(
  { store, studio }: LocalPlace,
  text: string,
  format: string | undefined,
  progress: Progress,
): Promise<ThreadRow> {
  const thread = await readImport(studio, [text], format);
  try {
    await saveImport(store, thread, (done, all) => progress.at(done, all));
  } finally {
    await progress.end();
  }
  return rowOf(studio, thread);
}
