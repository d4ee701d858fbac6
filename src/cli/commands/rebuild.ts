import { bodyFor, WIRES } from "../../studio/calls/wire.ts";
import { callDetail } from "../calls.ts";
import { defineCommand } from "../command.ts";
import { EXIT } from "../exit.ts";
import { printExplained } from "../explained.ts";
import { budgetLine, prefixLine, usageLine, viewLine } from "../facts.ts";
import { printMessages, printTools } from "../messages.ts";
import { AGENT, PLACE } from "../options.ts";
import { oneOf } from "../parse.ts";
import { at } from "../place.ts";

export const rebuild = defineCommand({
  args: "<thread> [call]",
  options: {
    explain: { type: "boolean", help: "show the status of every entry instead of the messages" },
    provider: { type: "string", value: "name", help: `print the request body for ${WIRES.join(", ")}` },
    ...PLACE,
    ...AGENT,
  },
  notes: [
    "A call is an id, `last` (default), or `last~2`. It is rebuilt from the log and compared with the fingerprint of what",
    "was sent. The exit code is 1 if they differ. Name an agent with its own readers or token counter by --agent.",
  ],
  examples: [
    { run: "heddle rebuild last", does: "show what the newest call sent" },
    { run: "heddle rebuild last last~1 --explain", does: "show the call before, entry by entry" },
    { run: "heddle rebuild last --provider anthropic", does: "print the JSON body for a provider" },
  ],
  run: (call) =>
    at(call, {}, async (place) => {
      const { out, options, args } = call;
      const provider = options.provider === undefined ? undefined : oneOf(WIRES, options.provider, "--provider");
      const id = await place.threadId(args[0] ?? "");
      const detail = await callDetail(place, id, args[1]);
      const { proven, problem, messages, toolSpec, provenance, explained, record, meta, previous } = detail;
      if (provider !== undefined) {
        const body = bodyFor(provider, messages, toolSpec);
        await (out.isJson ? out.json({ provider, proven, body }) : out.data(JSON.stringify(body, null, 2)));
      } else if (out.isJson) await out.json({ threadId: id, ...detail });
      else if (options.explain === true) await printExplained(out, explained);
      else {
        await printTools(out, toolSpec);
        await printMessages(out, messages, provenance, previous?.stablePrefix);
      }
      if (!proven) {
        await out.error(
          `${out.talk("red", "not proven:")} ${problem?.message ?? "the rebuilt call differs from what was sent."}`,
        );
        return EXIT.failed;
      }
      await out.say(`${out.talk("green", "proven:")} ${record.fingerprint}`);
      if (out.isJson) return undefined;
      const facts = [
        ...(meta === undefined ? [] : [budgetLine(meta), viewLine(meta)]),
        usageLine(detail),
        prefixLine(detail),
      ];
      for (const fact of facts) await out.say(out.talk("dim", fact));
      return undefined;
    }),
});
