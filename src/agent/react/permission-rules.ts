import {
  checkSetting,
  heldRules,
  type PermissionRule,
  SettingError,
  settingId,
  toolSetting,
} from "../../lanes/setting.ts";
import type { EntryInput } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import type { RuleValue } from "../../thread/kinds.ts";
import type { ToolCall } from "../../thread/message.ts";
import type { Remember } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { heldFor, modeOf, shownTools } from "./call-context.ts";
import { callRefs } from "./entries.ts";
import { allowsText, type Denial, deniesText } from "./permission-glob.ts";
import { type OpenCall, openCalls, type Run } from "./state.ts";

/** The permission rules that hold for the open request, else for the active lane: those of the mode, then the remembered ones. */
export function rulesOf(agent: ReactAgent): readonly PermissionRule[] {
  const { thread, state, settings } = agent;
  const { run, activeContextRef } = state;
  const remembered = heldRules(thread, run?.lane ?? activeContextRef, run?.requestId);
  if (settings.modes === undefined) return remembered;
  const held = heldFor(agent);
  const { mode = "" } = held;
  const ofMode = (modeOf(settings, held).rules ?? []).map((rule, index): PermissionRule => {
    return { id: `mode:${mode}/${index}`, ...rule, scope: "mode", mode };
  });
  return [...ofMode, ...remembered];
}

/**
 * The rule that decides a call: a rule that denies it comes before one that allows it. None where it is unclear whether a rule
 * denies it, and no rule allows a call that the guard asks for: then a person is asked.
 */
export function ruleFor(agent: ReactAgent, call: GuardedCall): PermissionRule | undefined {
  const rules = rulesOf(agent).filter(({ tool }) => tool === call.name);
  const denying = rules.find((rule) => rule.verdict === "deny" && denial(rule, call) === "yes");
  if (rules.length === 0 || denying !== undefined || call.guard || mayBeDenied(agent, call)) return denying;
  return rules.findLast((rule) => rule.verdict === "allow" && isOfTool(agent, rule) && covers(rule, call));
}

/** Whether a rule denies a call, or could deny it: then no call runs without a decision. */
export function mayBeDenied(agent: ReactAgent, call: RuledCall): boolean {
  return rulesOf(agent).some((rule) => {
    if (rule.verdict !== "deny" || rule.tool !== call.name) return false;
    return denial(rule, call) !== "no" || !isOfTool(agent, rule);
  });
}

/** Whether the tool is the one that the rule was made for. A rule of a mode is written with the tools of the agent. */
function isOfTool(agent: ReactAgent, { mode, hash, tool }: PermissionRule): boolean {
  return mode !== undefined || hash === hashOf(agent, tool);
}

/** The hash of a tool's specification in the open request. With another one the arguments may have another meaning. */
function hashOf(agent: ReactAgent, name: string): string | undefined {
  const spec = shownTools(agent, heldFor(agent), agent.state.run?.options.askedTools).find((one) => one.name === name);
  return spec && toolSetting(spec).hash;
}

type RuledCall = Pick<ToolCall, "name" | "arguments">;

/** `guard`: the agent's guard asks for an approval of this call. */
type GuardedCall = RuledCall & Pick<OpenCall, "guard">;

/** The calls that wait here for an approval, and that a rule decides. */
export function ruledCalls(agent: ReactAgent): readonly { readonly open: OpenCall; readonly rule: PermissionRule }[] {
  const { state, flight } = agent;
  const now = agent.ports.clock();
  const open = state.run === undefined ? [] : openCalls(state.run);
  return open.flatMap((one) => {
    const isOpen = one.status === "approval_requested" && (one.deadline ?? Number.POSITIVE_INFINITY) > now;
    const waits = isOpen && !flight.running.includes(one.call.id);
    const rule = waits ? ruleFor(agent, { ...one.call, guard: one.guard }) : undefined;
    return rule === undefined ? [] : [{ open: one, rule }];
  });
}

interface Maker {
  readonly approved: boolean;
  readonly by?: string | undefined;
  readonly reason?: string | undefined;
}

/** The rule that a decision makes, as an entry. None where an equal rule holds. A rule must cover the call that it is made of. */
export function ruleEntries(
  agent: ReactAgent,
  run: Run,
  call: ToolCall,
  { approved, by, reason }: Maker,
  remember: Remember | undefined,
): readonly EntryInput[] {
  if (remember === undefined) return [];
  const { opId, tool = call.name, pattern, scope = "request" } = remember;
  const hash = hashOf(agent, tool);
  const verdict = approved ? "allow" : "deny";
  if (approved && hash === undefined) {
    const message = `This process does not have the tool ${tool}, so a rule cannot allow its calls. Approve in a process that has it, or without remember.`;
    throw new SettingError({ code: "setting_invalid", message });
  }
  const value = { tool, verdict, ...(pattern && { pattern }), ...(hash !== undefined && { hash }) } as const;
  const payload = checkSetting(
    {
      opId,
      ...(scope === "lane" && { contextRef: run.lane }),
      ...(scope === "request" && { requestId: run.requestId }),
      ...(by !== undefined && { by }),
      ...(reason !== undefined && { reason }),
      setting: { type: "rule", name: opId, value },
    },
    agent.thread,
  );
  if (approved ? !covers(value, call) : denial(value, call) === "no") {
    const message = `The rule does not cover the call ${call.id}. A pattern is compared with whole values, and with commands of a shell exactly.`;
    throw new SettingError({ code: "setting_invalid", message });
  }
  const isHeld = rulesOf(agent).some(
    ({ id: _id, scope: ofRule, by: _by, reason: _reason, seq: _seq, mode: _mode, ...held }) => {
      return ofRule === scope && sameJson(held as JsonObject, value as JsonObject); // a rule is JSON
    },
  );
  const refs = { ...callRefs(run), toolCallId: call.id };
  return isHeld ? [] : [{ id: settingId(opId), kind: "ai_setting", payload, refs }];
}

/** Whether a rule that denies covers a call. Of a list one item is enough. In doubt it may cover the call. */
export function denial({ tool, pattern }: RuleValue, { name, arguments: given }: RuledCall): Denial {
  if (tool !== name) return "no";
  const answers = Object.entries(pattern ?? {}).map(([path, glob]) => {
    const keys = path.split(".");
    return deniesAt(given, keys, (text) => deniesText(text, glob, [tool, ...keys].some(isOfShell)));
  });
  return answers.includes("no") ? "no" : answers.includes("maybe") ? "maybe" : "yes";
}

function deniesAt(value: JsonValue, keys: readonly string[], denies: (text: string) => Denial): Denial {
  if (Array.isArray(value)) {
    const answers = value.map((item: JsonValue) => deniesAt(item, keys, denies));
    return answers.includes("yes") ? "yes" : answers.includes("maybe") ? "maybe" : "no";
  }
  const [key, ...others] = keys;
  if (value === null) return "no";
  if (key === undefined) return typeof value === "object" ? "maybe" : denies(String(value));
  if (!isPlainObject(value)) return "maybe"; // a schema may read the text or number as an object
  return Object.hasOwn(value, key) ? deniesAt(value[key] as JsonValue, others, denies) : "no"; // a field of a JSON object
}

/**
 * Whether a rule that allows covers a call. Each path of its pattern must lead to a text, number or boolean that the glob matches whole; a list
 * needs at least one item, and each must match. In doubt a rule covers no call, and a person is asked.
 */
export function covers({ tool, pattern }: RuleValue, { name, arguments: given }: RuledCall): boolean {
  if (tool !== name) return false;
  return Object.entries(pattern ?? {}).every(([path, glob]) => {
    const keys = path.split(".");
    return matchesAt(given, keys, [tool, ...keys].some(isOfShell) ? undefined : glob, glob);
  });
}

/** Without `glob` only an equal text matches, and no list: its items would be parts of one command. */
function matchesAt(value: JsonValue, keys: readonly string[], glob: string | undefined, exact: string): boolean {
  if (Array.isArray(value)) {
    const items: readonly JsonValue[] = value;
    return glob !== undefined && items.length > 0 && items.every((item) => matchesAt(item, keys, glob, exact));
  }
  const [key, ...others] = keys;
  if (key !== undefined) {
    const isThere = isPlainObject(value) && Object.hasOwn(value, key);
    return isThere && matchesAt(value[key] as JsonValue, others, glob, exact); // a field of a JSON object
  }
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") return false;
  return String(value) === exact || (glob !== undefined && allowsText(String(value), glob));
}

const SHELL_WORDS =
  /^(commands?|cmds?|commandline|scripts?|shell|bash|z?sh|powershell|pwsh|terminal|exec|eval|code|argv|sql)$/;

/** Whether a name says that the text is run: a glob over it could be extended by `;` or `&&`. */
function isOfShell(name: string): boolean {
  const words = name.split(/(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+/);
  return words.some((word) => SHELL_WORDS.test(word.toLowerCase()));
}
