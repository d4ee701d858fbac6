import type { ThreadDetail } from "../answers.ts";
import { pathOf } from "../calls.ts";
import { defineCommand } from "../command.ts";
import { CliError, EXIT } from "../exit.ts";
import { PLACE } from "../options.ts";
import { at } from "../place.ts";

export const cancel = defineCommand({
  args: "<thread>",
  options: { reason: { type: "string", value: "text", help: "recorded with the cancellation" }, ...PLACE },
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
    at(call, {}, async (place) => {
      const { out, options, args } = call;
      const id = await place.threadId(args[0] ?? "");
      const { status } = await place.get<ThreadDetail>(pathOf(id));
      if (!place.isServer && status === "running") throw serverNeeded();
      const isOpen = place.isServer || status === "waiting";
      const { cancelled } = isOpen
        ? await place.post<{ readonly cancelled: boolean }>(pathOf(id, "cancel"), { reason: options.reason })
        : { cancelled: false };
      if (out.isJson) await out.json({ threadId: id, cancelled });
      else await out.say(cancelled ? "Cancelled." : "Nothing to cancel: no request is open in this thread.");
      return cancelled ? EXIT.ok : EXIT.refused;
    }),
});

function serverNeeded(): CliError {
  const message =
    "A request is running in this thread, and only the process that runs it can cancel it. Press Ctrl-C there, or name the " +
    "Studio that runs it: --server http://127.0.0.1:4747. If that process has died, heddle studio resumes the request.";
  return new CliError({ code: "server_needed", exit: EXIT.usage, message });
}
