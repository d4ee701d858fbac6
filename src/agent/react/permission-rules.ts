import { checkSetting, heldRules, type PermissionRule, SettingError, settingId } from "../../lanes/setting.ts";
import type { EntryInput } from "../../thread/entry.ts";
import { isPlainObject, type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import type { RuleValue } from "../../thread/kinds.ts";
import type { ToolCall } from "../../thread/message.ts";
import type { Remember } from "../signal.ts";
import type { ReactAgent } from "./agent.ts";
import { callRefs } from "./entries.ts";
import { type OpenCall, openCalls, type Run } from "./state.ts";

/** The permission rules that hold for the open request, else for the active lane. */
export function rulesOf({ thread, state: { run, activeContextRef } }: ReactAgent): readonly PermissionRule[] {
  return heldRules(thread, run?.lane ?? activeContextRef, run?.requestId);
}

/** The rule that decides a call: a rule that denies it comes before one that allows it. */
export function ruleFor(agent: ReactAgent, call: Pick<ToolCall, "name" | "arguments">): PermissionRule | undefined {
  const rules = rulesOf(agent).filter((rule) => covers(rule, call));
  return rules.find(({ verdict }) => verdict === "deny") ?? rules.at(-1);
}

/** The calls that wait here for an approval, and that a rule decides. */
export function ruledCalls(agent: ReactAgent): readonly { readonly open: OpenCall; readonly rule: PermissionRule }[] {
  const { state, flight } = agent;
  const now = agent.ports.clock();
  const open = state.run === undefined ? [] : openCalls(state.run);
  return open.flatMap((one) => {
    const isOpen = one.status === "approval_requested" && (one.deadline ?? Number.POSITIVE_INFINITY) > now;
    const waits = isOpen && !flight.running.includes(one.call.id);
    const rule = waits ? ruleFor(agent, one.call) : undefined;
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
  const value = { tool, verdict: approved ? "allow" : "deny", ...(pattern && { pattern }) } as const;
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
  if (!covers(value, call)) {
    const message = `The rule does not cover the call ${call.id}. A pattern is compared with whole values, and with commands of a shell exactly.`;
    throw new SettingError({ code: "setting_invalid", message });
  }
  const isHeld = rulesOf(agent).some(({ id: _id, scope: ofRule, by: _by, reason: _reason, seq: _seq, ...held }) => {
    return ofRule === scope && sameJson(held as JsonObject, value as JsonObject); // a rule is JSON
  });
  const refs = { ...callRefs(run), toolCallId: call.id };
  return isHeld ? [] : [{ id: settingId(opId), kind: "ai_setting", payload, refs }];
}

/**
 * Whether a rule covers a call. Each path of its pattern must lead to a text, number or boolean that the glob matches whole; a list
 * needs at least one item, and each must match. In doubt a rule covers no call, and a person is asked.
 */
export function covers({ tool, pattern }: RuleValue, { name, arguments: given }: Pick<ToolCall, "name" | "arguments">) {
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
  return String(value) === exact || (glob !== undefined && matchesGlob(String(value), glob));
}

const SHELL_WORDS =
  /^(commands?|cmds?|commandline|scripts?|shell|bash|z?sh|powershell|pwsh|terminal|exec|eval|code|argv|sql)$/;

/** Whether a name says that the text is run: a glob over it could be extended by `;` or `&&`. */
function isOfShell(name: string): boolean {
  const words = name.split(/(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+/);
  return words.some((word) => SHELL_WORDS.test(word.toLowerCase()));
}

/** Separators of the parts of a path, on any system. */
const SLASH = String.raw`/\\\u2044\u2215\u2216\uff0f\uff3c`;
/** Parts such as `..`, also with spaces or encoded: a path with them leads elsewhere. */
const ELSEWHERE = new RegExp(`(^|[${SLASH}])[. ]*\\.[. ]*([${SLASH}]|$)|%(2e|2f|5c|00)`, "i");
/** The beginning of a path that is not relative. */
const ROOT = new RegExp(`^\\s*([${SLASH}~]|[a-z]:)`, "i");
const PLAIN = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]$/u;
const IN_PART = new RegExp(`^[^${SLASH}]$`, "u");
const IN_HOST = new RegExp(`^[^${SLASH}#?@:]$`, "u");

/** One step of a glob: a character, or what a wildcard takes. `dirs`: any number of whole parts. */
type GlobStep =
  | { readonly type: "character"; readonly character: string }
  | { readonly type: "one" | "many"; readonly takes: (character: string) => boolean }
  | { readonly type: "dirs" };

/**
 * Whether the glob matches the whole text. `?` is one character of a part of a path, and `*` any number of them. `**` is any
 * characters, and with a slash any number of whole parts. A wildcard takes no hidden characters. In the host of an address it
 * takes only characters of a host.
 */
function matchesGlob(text: string, glob: string): boolean {
  const steps = stepsOf(glob);
  if (steps.every(({ type }) => type === "character")) return text === glob;
  if ([text, text.normalize("NFKC")].some((form) => ELSEWHERE.test(form))) return false;
  if (steps[0]?.type !== "character" && ROOT.test(text)) return false;
  const characters = [...text];
  // Whether the steps behind match the text from each position on: filled from both ends, so that no text takes long.
  let rest = [...characters.map(() => false), true];
  for (const step of steps.toReversed()) {
    const next = rest.map(() => false);
    let ofParts = false;
    for (let at = characters.length; at >= 0; at--) {
      const character = characters[at] ?? "";
      const after = at < characters.length && rest[at + 1] === true;
      if (step.type === "character") next[at] = after && character === step.character;
      else if (step.type === "one") next[at] = after && step.takes(character);
      else if (step.type === "many") next[at] = rest[at] === true || (next[at + 1] === true && step.takes(character));
      else {
        ofParts = PLAIN.test(character) && ((character === "/" && after) || ofParts);
        next[at] = rest[at] === true || ofParts;
      }
    }
    rest = next;
  }
  return rest[0] === true;
}

function stepsOf(glob: string): readonly GlobStep[] {
  const hostStart = glob.indexOf("://") + 3;
  const hostEnd = hostStart < 3 ? 0 : `${glob}/`.indexOf("/", hostStart);
  const steps: GlobStep[] = [];
  for (const { 0: piece, index } of glob.matchAll(/(?<=^|\/)\*\*\/|\*+|[^*]/gsu)) {
    const isOfHost = index >= hostStart && index < hostEnd;
    const inPart = (character: string): boolean =>
      PLAIN.test(character) && (isOfHost ? IN_HOST : IN_PART).test(character);
    if (piece === "?") steps.push({ type: "one", takes: inPart });
    else if (piece === "*" || (isOfHost && piece.startsWith("*"))) steps.push({ type: "many", takes: inPart });
    else if (piece === "**/") steps.push({ type: "dirs" });
    else if (piece.startsWith("*")) steps.push({ type: "many", takes: (character) => PLAIN.test(character) });
    else steps.push({ type: "character", character: piece });
  }
  return steps;
}
