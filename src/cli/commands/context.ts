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
    at: { type: "string", value: "seq", help: "the context at this entry; default: the last one" },
    policy: { type: "string", value: "policy", help: POLICY_HELP },
    lane: { type: "string", value: "name", help: "default: the active lane at that entry" },
    system: { type: "string", value: "text", help: "another system prompt; @file reads a file" },
    tools: { type: "string", value: "json", help: "other tool specs, as a JSON list; @file reads a file" },
    model: { type: "string", value: "name", help: "another model, such as anthropic:claude-sonnet-4" },
    bare: { type: "boolean", help: "ignore system prompt, tools and policy of the last call" },
    explain: { type: "boolean", help: "show the status of every entry instead of the messages" },
    provider: { type: "string", value: "name", help: `print the request body for ${WIRES.join(", ")}` },
    ...PLACE,
    ...AGENT,
  },
  notes: ["System prompt, tools and policy come from the last call before that entry, unless you give others."],
  examples: [
    { run: "heddle context last", does: "show what a model would get now" },
    { run: "heddle context last --at 1 --explain", does: "show an early context, entry by entry" },
    {
      run: `heddle context last --policy '{"maxInputTokens":3000,"reserveOutputTokens":500}'`,
      does: "try another policy",
    },
    { run: "heddle context last --policy long --provider openai-chat", does: "print the JSON body for a provider" },
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
      if (!out.isJson) for (const fact of [budgetLine(meta), viewLine(meta)]) await out.say(out.talk("dim", fact));
      return undefined;
    }),
});
