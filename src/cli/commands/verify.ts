import { callsBack } from "../../runtime/calls/find-call.ts";
import type { VerifyReport } from "../../stores/port.ts";
import { shownCall } from "../../studio/routes/calls.ts";
import { HeddleError } from "../../thread/errors.ts";
import { AGENT_OPTIONS, type CommandCall, defineCommand, STORE_OPTIONS } from "../command.ts";
import { EXIT } from "../io.ts";
import { count, Progress } from "../output.ts";
import { type LocalStudioClient, localClient } from "../studio-client.ts";

const VERIFY_OPTIONS = {
  calls: { type: "boolean", help: "also rebuild every model call and compare it with its fingerprint" },
  ...STORE_OPTIONS,
  ...AGENT_OPTIONS,
} as const;

export const verify = defineCommand({
  args: "[thread...]",
  options: VERIFY_OPTIONS,
  notes: [
    "Without a thread, all threads are checked. The exit code is 1 if anything is bad; the first bad entry is named.",
  ],
  examples: [
    { run: "heddle verify", does: "check every thread of the store" },
    { run: "heddle verify last --calls --json", does: "check one thread and rebuild its calls" },
  ],
  run: async (call) => {
    const { io, out, args } = call;
    const client = await localClient(
      { ...call, options: { ...call.options, server: undefined, token: undefined } },
      {},
    );
    const progress = new Progress(out, "verifying", io);
    try {
      const wanted = await threadsOf(client, args);
      const total = wanted.reduce((sum, { rev }) => sum + rev, 0);
      const reports: Report[] = [];
      let done = 0;
      for (const { id, rev } of wanted) {
        await progress.at(done, total);
        const report = await verifyThread(call, client, id, (entries) => void progress.at(done + entries, total));
        reports.push(report);
        done += rev;
        if (out.isJson) continue;
        await progress.end();
        await out.data(lineOf(report));
      }
      await progress.end();
      const isGood = reports.every(isOk);
      if (out.isJson) await out.json({ ok: isGood, threads: reports });
      const bad = reports.filter((report) => !isOk(report)).length;
      await out.info(`${count(reports.length, "thread")} verified, ${bad === 0 ? "all good" : `${bad} bad`}.`);
      return isGood ? EXIT.ok : EXIT.failed;
    } finally {
      await client.close();
    }
  },
});

interface Report extends VerifyReport {
  readonly calls?: { readonly proven: number; readonly bad: readonly { callId: string; reason: string }[] };
}

async function threadsOf(client: LocalStudioClient, given: readonly string[]) {
  const threads: { readonly id: string; readonly rev: number }[] = [];
  for (const name of given) {
    const id = await client.threadId(name);
    threads.push({ id, rev: (await client.store.load(id, { last: 1 }).catch(() => undefined))?.rev ?? 0 }); // ignored here: verifying reports the error
  }
  if (given.length > 0) return threads;
  let cursor: string | undefined;
  do {
    const page = await client.store.list({ order: "id", limit: 1000, cursor });
    threads.push(...page.threads);
    cursor = page.cursor;
  } while (cursor !== undefined);
  return threads;
}

async function verifyThread(
  { io, out, options }: CommandCall<typeof VERIFY_OPTIONS>,
  client: LocalStudioClient,
  id: string,
  onProgress: (entries: number) => void,
): Promise<Report> {
  const report = await client.store.verify(id, { onProgress });
  if (options.calls !== true || !report.ok) return report;
  const bad: { callId: string; reason: string }[] = [];
  let proven = 0;
  const progress = new Progress(out, "proving calls", io);
  for await (const found of callsBack(client.store, id)) {
    const { callId, entry } = found;
    await progress.at(report.entries - entry.seq, report.entries); // entries are verified from the newest to the oldest
    try {
      const shown = await shownCall(client.studio, id, found);
      if (shown.proven) proven++;
      else bad.push({ callId, reason: shown.problem?.message ?? "the rebuilt call differs from what was sent" });
    } catch (error) {
      if (!HeddleError.isInstance(error)) throw error;
      bad.push({ callId, reason: error.message });
    }
  }
  await progress.end();
  return { ...report, calls: { proven, bad } };
}

function isOk({ ok, calls }: Report): boolean {
  return ok && (calls === undefined || calls.bad.length === 0);
}

function lineOf({ threadId, entries, hash, bad, calls }: Report): string {
  const of = `${threadId}  ${count(entries, "good entry", "good entries")}`;
  if (bad !== undefined) return `bad  ${of}  entry ${bad.seq}: ${bad.reason}`;
  if (calls === undefined) return `ok   ${of}  ${hash}`;
  const troubles = calls.bad.map(({ callId, reason }) => `\n     ${callId}: ${reason}`).join("");
  return `${calls.bad.length === 0 ? "ok " : "bad"}  ${of}, ${count(calls.proven, "call")} proven  ${hash}${troubles}`;
}
