import { changesOf } from "../../studio/calls/changes.ts";
import type { DiffAnswer, ViewAnswer } from "../answers.ts";
import { callNamed, pathOf } from "../calls.ts";
import { type Call, defineCommand } from "../command.ts";
import { badUsage, CliError, EXIT } from "../exit.ts";
import { budgetLine, entriesOf } from "../facts.ts";
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
    help: `compare policies: give it twice for old and new. ${POLICY_HELP}`,
  },
  at: { type: "string", value: "seq", help: "with --policy: the context at this entry; default: the last one" },
  ...PLACE,
  ...AGENT,
} as const;

export const diff = defineCommand({
  args: "<thread> [call] [call]",
  options: DIFFING,
  notes: ["Default: the last call and the one before it. A call is an id, `last`, or `last~2`."],
  examples: [
    { run: "heddle diff last", does: "show what is new in the last call, and why" },
    { run: "heddle diff last last~1 last --json", does: "compare two calls" },
    {
      run: `heddle diff last --policy default --policy '{"maxTurns":1}'`,
      does: "show what another policy would change",
    },
  ],
  run: (call) =>
    at(call, {}, async (place) => {
      const id = await place.threadId(call.args[0] ?? "");
      const found: Compared =
        call.options.policy === undefined ? await ofCalls(call, place, id) : await ofPolicies(call, place, id);
      if (call.out.isJson) await call.out.json({ threadId: id, ...found });
      else await print(call.out, found);
      return undefined;
    }),
});

/** The result of a comparison. Budgets are shown for policies only; `rebuild` shows those of a call. */
interface Compared extends Omit<DiffAnswer, "causes"> {
  /** The rules that changed messages, or the status of entries. */
  readonly causes: readonly { readonly rule: string; readonly why: string }[];
  readonly budgets?: readonly [old: string, now: string];
}

async function ofCalls({ args }: Call<typeof DIFFING>, place: Place, id: string): Promise<DiffAnswer> {
  const [, first = "last~1", second = "last"] = args;
  const [a, b] = await Promise.all([first, second].map((given) => callNamed(place, id, given)));
  const answer = await place.get<DiffAnswer>(pathOf(id, "diff"), { a: a?.callId, b: b?.callId });
  const { problem } = answer;
  if (problem !== undefined && (answer.a.length === 0 || answer.b.length === 0))
    throw new CliError({ ...problem, exit: EXIT.failed });
  return answer;
}

async function ofPolicies({ io, options, args }: Call<typeof DIFFING>, place: Place, id: string): Promise<Compared> {
  const [first = "", second, ...more] = options.policy ?? [];
  if (args.length > 1 || more.length > 0) throw badUsage("Compare two calls, or one or two policies, not both.");
  const atSeq = wholeNumber(options.at, "--at");
  const given = await policyGiven(io, first);
  const other = second === undefined ? undefined : await policyGiven(io, second);
  // A single policy is compared with that of the last call.
  const [a, b] = await Promise.all([
    viewOf(place, id, { atSeq, policy: other === undefined ? undefined : given }),
    viewOf(place, id, { atSeq, policy: other ?? given }),
  ]);
  const changes = changesOf(a, b);
  const same = changes.findIndex(({ kind }) => kind !== "same");
  return {
    same: same < 0 ? changes.length : same,
    a: a.messages,
    b: b.messages,
    changes,
    causes: becomingOf(a.explained, b.explained),
    budgets: [budgetLine(a.meta), budgetLine(b.meta)],
  };
}

/** The entries whose status or rule differs between the two policies, grouped by rule. */
function becomingOf(before: ViewAnswer["explained"], after: ViewAnswer["explained"]): Compared["causes"] {
  const groups = new Map<string, { readonly rule: string; readonly how: string; readonly seqs: number[] }>();
  for (const [index, { seq, status, rule }] of after.entries()) {
    const was = before[index]?.status;
    if (was === undefined || (was === status && before[index]?.rule === rule)) continue;
    const key = `${rule} ${was} ${status}`;
    const how = `${was.replace("_", " ")} by the old policy, ${status.replace("_", " ")} by the new`;
    const group = groups.get(key) ?? { rule, how, seqs: [] };
    group.seqs.push(seq);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ rule, how, seqs }) => ({ rule, why: `${entriesOf(seqs)}: ${how}.` }));
}

async function print(out: Output, { a, b, changes, causes, same, budgets }: Compared): Promise<void> {
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
  if (budgets !== undefined)
    for (const [index, budget] of budgets.entries())
      await out.say(out.talk("dim", `${index === 0 ? "-" : "+"} ${budget}`));
  const totals = `${count(same, "message")} the same from the beginning, ${count(changed, "difference")}.`;
  await out.say(out.talk("dim", changed === 0 ? "Nothing differs." : totals));
}
