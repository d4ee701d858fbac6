import { isPlainObject, type JsonValue } from "../../thread/json.ts";
import type { RuleValue } from "../../thread/kinds.ts";
import type { ToolCall } from "../../thread/message.ts";

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
