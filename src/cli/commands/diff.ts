import { changesOf } from "../../studio/calls/changes.ts";
import type { DiffAnswer } from "../answers.ts";
import { callNamed, pathOf } from "../calls.ts";
import { type Call, defineCommand } from "../command.ts";
import { badUsage, CliError, EXIT } from "../exit.ts";
import { POLICY_HELP, policyGiven } from "../given.ts";
import { textOf } from "../messages.ts";
import { AGENT, PLACE } from "../options.ts";
import type { Output } from "../output.ts";
import { wholeNumber } from "../parse.ts";
import { at, type Place } from "../place.ts";
import { count, indented, line } from "../text.ts";
import { viewOf } from "../view.ts";

const DIFFING = {
  policy: {
    type: "string",
    multiple: true,
    value: "policy",
    help: `compare views: once for old, once for new. ${POLICY_HELP}`,
  },
  at: { type: "string", value: "seq", help: "with --policy: when this was the last entry" },
  ...PLACE,
  ...AGENT,
} as const;

export const diff = defineCommand({
  args: "<thread> [call] [call]",
  options: DIFFING,
  notes: ["Default are the last call and the one before. A call is an id, `last`, or `last~2`."],
  examples: [
    { run: "heddle diff last", does: "what the last call was shown that the one before was not, and why" },
    { run: "heddle diff last last~1 last --json", does: "two calls" },
    { run: `heddle diff last --policy default --policy '{"maxTurns":1}'`, does: "what another policy would change" },
  ],
  run: (call) =>
    at(call, {}, async (place) => {
      const id = await place.threadId(call.args[0] ?? "");
      const found =
        call.options.policy === undefined ? await ofCalls(call, place, id) : await ofPolicies(call, place, id);
      if (call.out.isJson) await call.out.json({ threadId: id, ...found });
      else await print(call.out, found);
      return undefined;
    }),
});

async function ofCalls({ args }: Call<typeof DIFFING>, place: Place, id: string): Promise<DiffAnswer> {
  const [, first = "last~1", second = "last"] = args;
  const [a, b] = await Promise.all([first, second].map((given) => callNamed(place, id, given)));
  const answer = await place.get<DiffAnswer>(pathOf(id, "diff"), { a: a?.callId, b: b?.callId });
  const { problem } = answer;
  if (problem !== undefined && (answer.a.length === 0 || answer.b.length === 0))
    throw new CliError({ ...problem, exit: EXIT.failed });
  return answer;
}

async function ofPolicies({ io, options, args }: Call<typeof DIFFING>, place: Place, id: string): Promise<DiffAnswer> {
  const [first = "", second, ...more] = options.policy ?? [];
  if (args.length > 1 || more.length > 0) throw badUsage("Compare two calls, or one or two policies, not both.");
  const atSeq = wholeNumber(options.at, "--at");
  const given = await policyGiven(io, first);
  const other = second === undefined ? undefined : await policyGiven(io, second);
  // One policy alone is compared with the one that the thread has.
  const [a, b] = await Promise.all([
    viewOf(place, id, { atSeq, policy: other === undefined ? undefined : given }),
    viewOf(place, id, { atSeq, policy: other ?? given }),
  ]);
  const changes = changesOf(a, b);
  const same = changes.findIndex(({ kind }) => kind !== "same");
  return { same: same < 0 ? changes.length : same, a: a.messages, b: b.messages, changes, causes: [] };
}

async function print(out: Output, { a, b, changes, causes, same }: DiffAnswer): Promise<void> {
  const { paint } = out;
  for (const { kind, a: before, b: after } of changes) {
    const old = before === undefined ? undefined : a[before];
    const now = after === undefined ? undefined : b[after];
    if (kind === "same") {
      if (now !== undefined)
        await out.data(paint("dim", `  [${after}] ${now.role}: ${line(textOf(now), out.width - 20)}`));
      continue;
    }
    if (old !== undefined) await out.data(paint("red", indented(`[${before}] ${old.role}: ${textOf(old)}`, "- ")));
    if (now !== undefined) await out.data(paint("green", indented(`[${after}] ${now.role}: ${textOf(now)}`, "+ ")));
  }
  for (const { rule, why } of causes) await out.data(`${paint("yellow", rule)}: ${why}`);
  const changed = changes.filter(({ kind }) => kind !== "same").length;
  await out.say(out.talk("dim", `${count(same, "message")} the same from the beginning, ${changed} other.`));
}
