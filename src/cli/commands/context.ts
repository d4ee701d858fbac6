import { changesOf } from "../../studio/call-diff.ts";
import type { CallDiff, ThreadView } from "../../studio/contract.ts";
import { bodyFor, WIRES } from "../../studio/routes/calls.ts";
import { AGENT_OPTIONS, CLIENT_OPTIONS, type CommandCall, defineCommand, oneOf, wholeNumber } from "../command.ts";
import {
  budgetLine,
  entriesOf,
  printExplained,
  printMessages,
  printTools,
  textOf,
  viewLine,
} from "../context-report.ts";
import { badUsage, CliError, EXIT } from "../io.ts";
import { POLICY_HELP, parsePolicy, readJson, readText } from "../option-values.ts";
import { count, indented, line, type Output } from "../output.ts";
import { type StudioClient, withClient } from "../studio-client.ts";
import { findCall, loadView, pathOf } from "../studio-requests.ts";

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
    ...CLIENT_OPTIONS,
    ...AGENT_OPTIONS,
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
    withClient(call, {}, async (client) => {
      const { io, out, options } = call;
      const provider = options.provider === undefined ? undefined : oneOf(WIRES, options.provider, "--provider");
      const view = await loadView(client, await client.threadId(call.args[0] ?? ""), {
        atSeq: wholeNumber(options.at, "--at"),
        lane: options.lane,
        model: options.model,
        isBare: options.bare,
        policy: options.policy === undefined ? undefined : await parsePolicy(io, options.policy),
        system: options.system === undefined ? undefined : await readText(io, options.system),
        tools:
          options.tools === undefined ? undefined : await readJson(io, options.tools, "--tools must be a JSON list."),
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
      if (!out.isJson)
        for (const fact of [budgetLine(meta), viewLine(meta)]) await out.info(out.paintError("dim", fact));
      return undefined;
    }),
});

const DIFF_OPTIONS = {
  policy: {
    type: "string",
    multiple: true,
    value: "policy",
    help: `compare policies: give it twice for old and new. ${POLICY_HELP}`,
  },
  at: { type: "string", value: "seq", help: "with --policy: the context at this entry; default: the last one" },
  ...CLIENT_OPTIONS,
  ...AGENT_OPTIONS,
} as const;

export const diff = defineCommand({
  args: "<thread> [call] [call]",
  options: DIFF_OPTIONS,
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
    withClient(call, {}, async (client) => {
      const id = await client.threadId(call.args[0] ?? "");
      const found: Comparison =
        call.options.policy === undefined
          ? await compareCalls(call, client, id)
          : await comparePolicies(call, client, id);
      if (call.out.isJson) await call.out.json({ threadId: id, ...found });
      else await printComparison(call.out, found);
      return undefined;
    }),
});

/**
 * The result of a comparison of two policies or two calls. Only policies have budgets; `rebuild` shows those of a call.
 */
interface Comparison extends Omit<CallDiff, "causes"> {
  /** The rules that changed messages or the status of entries. */
  readonly causes: readonly { readonly rule: string; readonly why: string }[];
  readonly budgets?: readonly [old: string, now: string];
}

async function compareCalls(
  { args }: CommandCall<typeof DIFF_OPTIONS>,
  client: StudioClient,
  id: string,
): Promise<CallDiff> {
  const [, first = "last~1", second = "last"] = args;
  const [a, b] = await Promise.all([first, second].map((given) => findCall(client, id, given)));
  const answer = await client.get<CallDiff>(pathOf(id, "diff"), { a: a?.callId, b: b?.callId });
  const { problem } = answer;
  if (problem !== undefined && (answer.a.length === 0 || answer.b.length === 0))
    throw new CliError({ ...problem, exit: EXIT.failed });
  return answer;
}

async function comparePolicies(
  { io, options, args }: CommandCall<typeof DIFF_OPTIONS>,
  client: StudioClient,
  id: string,
): Promise<Comparison> {
  const [first = "", second, ...more] = options.policy ?? [];
  if (args.length > 1 || more.length > 0) throw badUsage("Compare two calls, or one or two policies, not both.");
  const atSeq = wholeNumber(options.at, "--at");
  const given = await parsePolicy(io, first);
  const other = second === undefined ? undefined : await parsePolicy(io, second);
  // A single policy is compared with the policy of the last call.
  const [a, b] = await Promise.all([
    loadView(client, id, { atSeq, policy: other === undefined ? undefined : given }),
    loadView(client, id, { atSeq, policy: other ?? given }),
  ]);
  const changes = changesOf(a, b);
  const same = changes.findIndex(({ kind }) => kind !== "same");
  return {
    same: same < 0 ? changes.length : same,
    a: a.messages,
    b: b.messages,
    changes,
    causes: statusCauses(a.explained, b.explained),
    budgets: [budgetLine(a.meta), budgetLine(b.meta)],
  };
}

/** Groups the entries whose status or rule differs between the two policies by rule. */
function statusCauses(before: ThreadView["explained"], after: ThreadView["explained"]): Comparison["causes"] {
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

async function printComparison(out: Output, { a, b, changes, causes, same, budgets }: Comparison): Promise<void> {
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
      await out.info(out.paintError("dim", `${index === 0 ? "-" : "+"} ${budget}`));
  const totals = `${count(same, "message")} the same from the beginning, ${count(changed, "difference")}.`;
  await out.info(out.paintError("dim", changed === 0 ? "Nothing differs." : totals));
}
