import { callIn } from "../../runtime/calls/find-call.ts";
import type { Entry } from "../../thread/entry.ts";
import type { JsonObject } from "../../thread/json.ts";
import type { EntriesWindow, ThreadDetail } from "../answers.ts";
import { pathOf } from "../calls.ts";
import { type Call, defineCommand } from "../command.ts";
import { EXIT } from "../exit.ts";
import { PLACE } from "../options.ts";
import type { Output } from "../output.ts";
import { wholeNumber } from "../parse.ts";
import { at, type Place } from "../place.ts";
import { messagesIn } from "../sse.ts";
import { contentText, count, indented, when } from "../text.ts";

const USUAL = 50;
const PAGE = 500;

const SHOWING = {
  last: { type: "string", short: "n", value: "number", help: `how many entries from the end; default ${USUAL}` },
  from: { type: "string", value: "seq", help: "the first entry to show" },
  to: { type: "string", value: "seq", help: "the last entry to show" },
  all: { type: "boolean", help: "show all entries" },
  kind: { type: "string", multiple: true, value: "kind", help: "show only this kind; repeat it for more kinds" },
  follow: { type: "boolean", short: "f", help: "also show new entries, until Ctrl-C" },
  ...PLACE,
} as const;

export const show = defineCommand({
  args: "<thread>",
  options: SHOWING,
  examples: [
    { run: "heddle show last", does: "show the end of the newest thread" },
    { run: "heddle show last --from 0 --to 3 --json", does: "print four entries as JSON" },
    { run: "heddle show last --all --kind ai_message", does: "show only the messages" },
    { run: "heddle show last --follow", does: "watch new entries" },
  ],
  run: (call) =>
    at(call, {}, async (place) => {
      const { options, out } = call;
      const id = await place.threadId(call.args[0] ?? "");
      const thread = await place.get<ThreadDetail>(pathOf(id));
      const [from, to] = windowOf(call, thread.rev);
      const isWanted = (entry: Entry): boolean => options.kind === undefined || options.kind.includes(entry.kind);
      if (options.follow === true) return followed(call, place, id, from, isWanted);
      const entries: Entry[] = [];
      if (!out.isJson) await out.say(out.talk("bold", `${thread.title} · ${id} · ${thread.status ?? "no status"}`));
      const earlier = Math.min(from, thread.rev);
      if (earlier > 0 && !out.isJson)
        await out.say(out.talk("dim", `${count(earlier, "earlier entry", "earlier entries")}. See --all and --from.`));
      let shown = 0;
      for await (const entry of entriesOf(place, id, from, to)) {
        if (!isWanted(entry)) continue;
        shown += 1;
        if (out.isJson) entries.push(entry);
        else await printEntry(out, entry);
      }
      if (shown === 0 && thread.rev > 0)
        await out.say(
          `There is no such entry ${from > to ? `from ${from} on` : `from ${from} to ${to}`}: the thread ends at ${thread.rev - 1}.`,
        );
      if (shown === 0 && thread.rev === 0) await out.say("The thread is empty.");
      if (out.isJson) await out.json({ thread, entries });
      return undefined;
    }),
});

function windowOf({ options }: Call<typeof SHOWING>, rev: number): readonly [number, number] {
  const to = Math.min(wholeNumber(options.to, "--to") ?? rev - 1, rev - 1);
  const from = wholeNumber(options.from, "--from");
  const last = wholeNumber(options.last, "--last", 1) ?? USUAL;
  return [from ?? (options.all === true ? 0 : Math.max(0, to - last + 1)), to];
}

async function* entriesOf(place: Place, id: string, from: number, to: number): AsyncGenerator<Entry, void> {
  for (let next = from; next <= to; next += PAGE) {
    const window = { from: next, to: Math.min(to, next + PAGE - 1) };
    const { entries } = await place.get<EntriesWindow>(pathOf(id, "entries"), window);
    yield* entries;
  }
}

async function followed(
  { io, out }: Call<typeof SHOWING>,
  place: Place,
  id: string,
  from: number,
  isWanted: (entry: Entry) => boolean,
): Promise<number> {
  const ended = new AbortController();
  let exit: number = EXIT.interrupted;
  const off = io.onInterrupt((signal) => {
    if (signal === "SIGTERM") exit = EXIT.terminated;
    ended.abort();
  });
  try {
    let next = from;
    while (!ended.signal.aborted) {
      const { body } = await place.open(pathOf(id, "events"), { from: next }, { signal: ended.signal });
      for await (const { event, data } of messagesIn(body ?? new ReadableStream())) {
        if (event !== "entry") continue;
        const { entry } = JSON.parse(data) as { readonly entry: Entry }; // written by Studio
        next = entry.seq + 1;
        if (!isWanted(entry)) continue;
        if (out.isJson) await out.json(entry);
        else await printEntry(out, entry);
      }
    }
    return exit;
  } catch (error) {
    if (!ended.signal.aborted) throw error;
    return exit;
  } finally {
    off();
    ended.abort();
  }
}

async function printEntry(out: Output, entry: Entry): Promise<void> {
  const { seq, at: time, kind, payload, refs } = entry;
  const { role, name, content, toolCalls, ...rest } = payload as JsonObject; // payloads are JSON
  const what = [kind, role, name].filter((word) => typeof word === "string").join(" ");
  const call = callIn(entry)?.callId;
  const facts = [
    when(time),
    ...(call === undefined ? [] : [call]),
    ...(refs.requestId === undefined ? [] : [refs.requestId]),
  ];
  await out.data(`${out.paint("cyan", String(seq))} ${out.paint("bold", what)} ${out.paint("dim", facts.join(" · "))}`);
  const calls = Array.isArray(toolCalls) ? toolCalls.map((one) => `→ ${JSON.stringify(one)}`) : [];
  const text = content === undefined ? JSON.stringify(rest) : contentText(content);
  const body = [text, ...calls].filter(Boolean).join("\n");
  if (body !== "" && body !== "{}") await out.data(indented(body));
}
