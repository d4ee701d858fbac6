/**
 * Globs of permission rules. A glob that allows takes only values whose meaning is clear. A glob that denies takes every
 * spelling of a value, so that another spelling of a denied path is never run.
 */

/** Separators of the parts of a path, on any system. */
const SLASH = String.raw`/\\\u2044\u2215\u2216\uff0f\uff3c`;
/** Parts such as `..`, also with spaces or encoded: a path with them leads elsewhere. */
const ELSEWHERE = new RegExp(`(^|[${SLASH}])[. ]*\\.[. ]*([${SLASH}]|$)|%(2e|2f|5c|00)`, "i");
/** The beginning of a path that is not relative: a slash, a home, a drive or a scheme. */
const ROOT = new RegExp(`^\\s*([${SLASH}~]|[a-z][a-z\\d+.-]*:)`, "i");
/** Not hidden, no separator of a list, nothing that a shell acts on, and no escape. */
const PLAIN = /^[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\s,;<>|&$`'"%]*$/u;
const IN_PART = new RegExp(`^[^${SLASH}]*$`, "u");
const IN_HOST = new RegExp(`^[^${SLASH}#?@:]*$`, "u");

/** One step of a glob: a character, or what a wildcard takes. `dirs`: any number of whole parts. */
type GlobStep =
  | { readonly type: "character"; readonly character: string }
  | { readonly type: "one" | "many" | "dirs"; readonly takes: (character: string) => boolean };

/**
 * Whether a glob that allows matches the whole text. `?` is one character of a part of a path, and `*` any number of them. `**`
 * is any characters, and with a slash any number of whole parts. No wildcard takes hidden characters, white space, separators
 * of lists, characters of a shell or escapes. In the host of an address it takes only characters of a host.
 */
export function allowsText(text: string, glob: string): boolean {
  const steps = stepsOf(glob, "allow");
  if (steps.every(({ type }) => type === "character")) return text === glob;
  const forms = [text, text.normalize("NFKC")];
  if (forms.some((form) => ELSEWHERE.test(form))) return false;
  if (steps[0]?.type !== "character" && forms.some((form) => ROOT.test(form))) return false;
  return matches(text, steps);
}

/** The answer of a rule that denies. With `maybe` the meaning of a value is unclear, and a person is asked. */
export type Denial = "yes" | "maybe" | "no";

/** Other spellings that lead to a file: parts such as `..`, escapes, short names, and streams of a file. */
const UNCLEAR = /(^|\/) *\.[. ]*\.[. ]*(\/|$)|%([\da-f]{2}|u)|~\d|:[:$]/i;
const ROOT_OF_GLOB = /^([/~]|[a-z]:|[a-z][a-z\d+.-]*:\/)/i;
const HIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/gu;
/** Between the items of a list, the words of a command, and the fields of an address. */
const BETWEEN = /[\s,;<>|&$`'"(){}[\]=:?#]+/;
const IN_SHELL = /[;<>|&$`\n\r(){}]/;

/** Whether a glob that denies matches any spelling of a text. Case, hidden characters and the kind of slashes do not count. */
export function deniesText(text: string, given: string, isCommand: boolean): Denial {
  const glob = resolved(folded(given));
  const use = isCommand ? "deny command" : "deny";
  const steps = stepsOf(glob, use);
  const isDenied = (form: string): boolean => matches(resolved(form), steps);
  const form = folded(text);
  if (text === given || isDenied(form) || matches(text, stepsOf(given, use))) return "yes";
  const address = glob.includes(":/") ? addressIn(text) : undefined;
  if (address !== undefined && isDenied(folded(address))) return "yes";
  if (UNCLEAR.test(text.normalize("NFKC")) || UNCLEAR.test(form) || (isCommand && IN_SHELL.test(text))) return "maybe";
  const pieces = form.split(BETWEEN).filter((piece) => piece !== "");
  if (pieces.some(isDenied)) return "maybe";
  const isBelow = (path: string): boolean =>
    [`**/${glob}`, `**/${glob}/**`].some((wider) => matches(resolved(path), stepsOf(wider, use)));
  // An item may have spaces before its slashes, so that it is in several pieces.
  if (pieces.length > 1 && isBelow(pieces.join("/"))) return "maybe";
  const root = ROOT_OF_GLOB.exec(glob)?.[0];
  if (root !== undefined) return ROOT_OF_GLOB.exec(resolved(form))?.[0] === root ? "no" : "maybe";
  return [form, ...pieces].some((piece) => ROOT.test(piece) && isBelow(piece)) ? "maybe" : "no";
}

/** One spelling for texts that may mean the same. Escapes may be escaped again. */
function folded(text: string): string {
  let form = text;
  for (let round = 0; round < 3 && form.includes("%"); round++) {
    form = form.replace(/(%[\da-f]{2})+/gi, (escapes) => {
      try {
        return decodeURIComponent(escapes);
      } catch {
        return escapes; // no UTF-8: it stays, and is unclear
      }
    });
  }
  const plain = form
    .normalize("NFKC")
    .replace(/[\t\n\r]/g, " ")
    .replace(HIDDEN, "");
  return plain
    .replace(new RegExp(`[${SLASH}]`, "gu"), "/")
    .toUpperCase()
    .toLowerCase()
    .normalize("NFKC");
}

/** The path without empty parts, `.` and `..`. Windows ignores spaces and dots at the end of a part. */
function resolved(path: string): string {
  const parts: string[] = [];
  for (const part of path.trim().split("/")) {
    const name = /^[. ]+$/.test(part) ? part.replaceAll(" ", "") : part.replace(/[. ]+$/, "").trimStart();
    if (name === ".." && parts.length > 0 && parts.at(-1) !== "..") parts.pop();
    else if (name !== "" && name !== ".") parts.push(name);
  }
  return `${path.trim().startsWith("/") ? "/" : ""}${parts.join("/")}`;
}

/** An address without its user and port. */
function addressIn(text: string): string | undefined {
  try {
    const { protocol, hostname, pathname, search } = new URL(text);
    return `${protocol}//${hostname}${pathname}${search}`;
  } catch {
    return undefined;
  }
}

function matches(text: string, steps: readonly GlobStep[]): boolean {
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
        ofParts = step.takes(character) && ((character === "/" && after) || ofParts);
        next[at] = rest[at] === true || ofParts;
      }
    }
    rest = next;
  }
  return rest[0] === true;
}

/** `*` of a command takes slashes also. Where a glob has an `@`, no wildcard that allows takes another one. */
function stepsOf(glob: string, use: "allow" | "deny" | "deny command"): readonly GlobStep[] {
  const isAllow = use === "allow";
  const hostStart = glob.indexOf("://") + 3;
  const hostEnd = hostStart < 3 || !isAllow ? 0 : `${glob}/`.indexOf("/", hostStart);
  const isAddress = glob.includes("@");
  const takes = (character: string): boolean =>
    !isAllow || [character, character.normalize("NFKC")].every((one) => PLAIN.test(one) && !(isAddress && one === "@"));
  const steps: GlobStep[] = [];
  for (const { 0: piece, index } of glob.matchAll(/(?<=^|\/)\*\*\/|\*+|[^*]/gsu)) {
    const inOne = index >= hostStart && index < hostEnd ? IN_HOST : IN_PART;
    const isIn = (character: string): boolean => inOne.test(character) && inOne.test(character.normalize("NFKC"));
    const inPart = (character: string): boolean => takes(character) && (use === "deny command" || isIn(character));
    if (piece === "?") steps.push({ type: "one", takes: inPart });
    else if (piece === "*" || (inOne === IN_HOST && piece.startsWith("*"))) steps.push({ type: "many", takes: inPart });
    else if (piece === "**/") steps.push({ type: "dirs", takes });
    else if (piece.startsWith("*")) steps.push({ type: "many", takes });
    else steps.push({ type: "character", character: piece });
  }
  return steps;
}
