import { bodyFor, WIRES } from "../../studio/calls/wire.ts";
import { defineCommand } from "../command.ts";
import { printExplained } from "../explained.ts";
import { budgetLine, viewLine } from "../facts.ts";
import { jsonGiven, POLICY_HELP, policyGiven, textGiven } from "../given.ts";
import { printMessages, printTools } from "../messages.ts";
import { AGENT, PLACE } from "../options.ts";
import { oneOf, wholeNumber } from "../parse.ts";
import { at } from "../place.ts";
import { viewOf } from "../view.ts";

export const context = defineCommand({
  args: "<thread>",
  options: {
    at: { type: "string", value: "seq", help: "as it was when this was the last entry" },
    policy: { type: "string", value: "policy", help: POLICY_HELP },
    lane: { type: "string", value: "name", help: "default the one that is active then" },
    system: { type: "string", value: "text", help: "another system prompt; @file for a file" },
    tools: { type: "string", value: "json", help: "other tool specs, a JSON list; @file for a file" },
    model: { type: "string", value: "name", help: "another model, such as anthropic:claude-sonnet-4" },
    bare: { type: "boolean", help: "without system prompt, tools and policy of the last call" },
    explain: { type: "boolean", help: "what became of every entry, instead of the messages" },
    provider: { type: "string", value: "name", help: `the body as it goes to ${WIRES.join(", ")}` },
    ...PLACE,
    ...AGENT,
  },
  notes: ["System prompt, tools and policy are those of the last call before that moment, unless others are given."],
  examples: [
    { run: "heddle context last", does: "what a model would be shown now" },
    { run: "heddle context last --at 1 --explain", does: "early on, entry by entry" },
    {
      run: `heddle context last --policy '{"maxInputTokens":3000,"reserveOutputTokens":500}'`,
      does: "had it another policy",
    },
    { run: "heddle context last --policy long --provider openai-chat", does: "as JSON for a provider" },
  ],
  run: (call) =>
    at(call, {}, async (place) => {
      const { io, out, options } = call;
      const provider = options.provider === undefined ? undefined : oneOf(WIRES, options.provider, "--provider");
      const view = await viewOf(place, await place.threadId(call.args[0] ?? ""), {
        atSeq: wholeNumber(options.at, "--at"),
        lane: options.lane,
        model: options.model,
        isBare: options.bare,
        policy: options.policy === undefined ? undefined : await policyGiven(io, options.policy),
        system: options.system === undefined ? undefined : await textGiven(io, options.system),
        tools:
          options.tools === undefined ? undefined : await jsonGiven(io, options.tools, "--tools must be a JSON list."),
      });
      const { messages, toolSpec, provenance, explained, meta } = view;
      if (provider !== undefined) {
        const body = bodyFor(provider, messages, toolSpec);
        await (out.isJson ? out.json({ provider, body }) : out.data(JSON.stringify(body, null, 2)));
      } else if (out.isJson) await out.json(view);
      else if (options.explain === true) await printExplained(out, explained);
      else {
        await printTools(out, toolSpec);
        await printMessages(out, messages, provenance);
      }
      if (!out.isJson) for (const told of [budgetLine(meta), viewLine(meta)]) await out.say(out.talk("dim", told));
      return undefined;
    }),
});
