// Finds the prose of a source file or a Markdown page: comments, messages, names of tests, paragraphs.

export interface SourceText {
  readonly kind: "comment" | "message" | "name" | "paragraph";
  /** Where it begins, from 1. */
  readonly line: number;
  readonly lastLine?: number;
  readonly text: string;
}

interface Span {
  readonly kind: SourceText["kind"];
  readonly start: number;
  readonly end: number;
}

/** The comments and messages of a TypeScript file, in order. Comments on lines of their own that follow each other are one. */
export function textsOfSource(source: string): readonly SourceText[] {
  return proseOf(source).map(({ kind, spans, text }) => ({
    kind,
    line: lineOf(source, spans[0]?.start ?? 0),
    lastLine: lineOf(source, spans.at(-1)?.end ?? 0),
    text,
  }));
}

interface Prose {
  readonly kind: SourceText["kind"];
  readonly spans: Span[];
  text: string;
}

function proseOf(source: string): readonly Prose[] {
  const found: Prose[] = [];
  const templates: (Prose | undefined)[] = []; // those whose placeholder the scan is in
  for (const span of spansOf(source)) {
    const { kind, start, end } = span;
    const raw = source.slice(start, end);
    const isRest = kind === "message" && raw.startsWith("}");
    const opened = isRest ? templates.pop() : undefined;
    const last = opened ?? found.at(-1);
    const text = kind === "comment" ? commentText(raw) : messageText(raw);
    let prose: Prose;
    if (last !== undefined && (opened !== undefined || isContinued(source, last, span))) {
      prose = last;
      prose.text += isRest ? `\`\`${text}` : kind === "comment" ? ` ${text}` : text;
      prose.spans.push(span);
    } else {
      prose = { kind, spans: [span], text };
      found.push(prose);
    }
    if (kind === "message" && raw.endsWith("${")) templates.push(prose);
  }
  return found.filter(({ kind, text }) => (kind === "comment" ? isProse(text) : isMessage(text)));
}

function isContinued(source: string, { kind, spans }: Prose, span: Span): boolean {
  const last = spans.at(-1);
  if (last === undefined || kind !== span.kind) return false;
  const between = source.slice(last.end, span.start);
  if (kind === "message") return /^\s*\+\s*$/.test(between);
  return source.startsWith("//", span.start) && /^\n[ \t]*$/.test(between) && startsLine(source, last.start);
}

/** The paragraphs, list items and table cells of a Markdown page, without code. */
export function textsOfMarkdown(source: string): readonly SourceText[] {
  const lines = withoutFences(source).split("\n");
  const texts: { kind: "paragraph"; line: number; text: string }[] = [];
  let isOpen = false;
  for (const [index, raw] of lines.entries()) {
    const line = raw.trim();
    const add = (text: string): unknown => texts.push({ kind: "paragraph", line: index + 1, text });
    if (line === "" || line.startsWith("<") || /^[|:\- ]+$/.test(line)) {
      isOpen = false;
    } else if (line.startsWith("|")) {
      for (const cell of line.split(/(?<!\\)\|/)) if (cell.trim() !== "") add(cell.trim());
      isOpen = false;
    } else {
      const item = /^(?:[-*]|\d+\.|#+|>)\s+(.*)$/.exec(line);
      const last = texts.at(-1);
      if (item === null && isOpen && last !== undefined) last.text += ` ${line}`;
      else add(item?.[1] ?? line);
      isOpen = !line.startsWith("#");
    }
  }
  return texts;
}

/** The names in `test("...")`, `it`, `describe` and their variants. */
export function testNamesOf(source: string): readonly SourceText[] {
  const calls = source.matchAll(
    /\b(?:test|it|describe)(?:\.\w+(?:\([^()]*\))?)*\(\s*(["'`])((?:\\.|(?!\1)[\s\S])+)\1/g,
  );
  return [...calls].map((match) => ({ kind: "name", line: lineOf(source, match.index), text: match[2] ?? "" }));
}

/** The sentences of a text. A code span is one word, and an indented line starts a new sentence. */
export function sentencesOf(text: string): readonly string[] {
  return text
    .replace(/`[^`]*`/g, "code")
    .replace(/\]\([^)]*\)/g, "]")
    .split(/(?<=[.!?])["')\]*]*\s+|\n\n|\n {2,}/)
    .map((sentence) => sentence.trim())
    .filter((sentence) => sentence !== "");
}

function spansOf(source: string): readonly Span[] {
  const spans: Span[] = [];
  const depths: number[] = []; // open braces of each `${` that the scan is in
  let before = ""; // the last character that is neither space nor comment
  for (let at = 0; at < source.length; ) {
    const rest = source[at] ?? "";
    const next = source[at + 1];
    const start = at;
    if (rest === "/" && next === "/") {
      at = ends(source.indexOf("\n", at), source);
      spans.push({ kind: "comment", start, end: at });
      continue;
    }
    if (rest === "/" && next === "*") {
      at = ends(source.indexOf("*/", at + 2) + 2, source);
      spans.push({ kind: "comment", start, end: at });
      continue;
    }
    if (rest === '"' || rest === "'" || rest === "`" || (rest === "}" && depths.at(-1) === 0)) {
      if (rest === "}") depths.pop();
      at = endOfString(source, at + 1, rest === "}" ? "`" : rest);
      if (source[at - 1] === "{") depths.push(0);
      spans.push({ kind: "message", start, end: at });
    } else if (rest === "/" && isRegexStart(source, at, before)) {
      at = endOfRegex(source, at + 1);
    } else {
      const depth = depths.at(-1);
      if (depth !== undefined && rest === "{") depths[depths.length - 1] = depth + 1;
      if (depth !== undefined && rest === "}") depths[depths.length - 1] = depth - 1;
      at++;
    }
    if (rest.trim() !== "") before = source[at - 1] ?? "";
  }
  return spans;
}

function ends(at: number, source: string): number {
  return at <= 1 ? source.length : at;
}

/** Behind the closing quote, or behind the `${` that interrupts a template. */
function endOfString(source: string, from: number, quote: string): number {
  for (let at = from; at < source.length; at++) {
    if (source[at] === "\\") at++;
    else if (source[at] === quote) return at + 1;
    else if (quote === "`" && source.startsWith("${", at)) return at + 2;
    else if (quote !== "`" && source[at] === "\n") return at;
  }
  return source.length;
}

function isRegexStart(source: string, at: number, before: string): boolean {
  if (/[\w$)\]"'`}]/.test(before))
    return /\b(?:return|typeof|case|in|of)\s*$/.test(source.slice(Math.max(0, at - 12), at));
  return before !== "<"; // a closing tag of JSX
}

function endOfRegex(source: string, from: number): number {
  let isClass = false;
  for (let at = from; at < source.length; at++) {
    const character = source[at];
    if (character === "\\") at++;
    else if (character === "[") isClass = true;
    else if (character === "]") isClass = false;
    else if (character === "\n") return from;
    else if (character === "/" && !isClass) return at + 1;
  }
  return from;
}

function commentText(raw: string): string {
  return withoutExample(raw)
    .replace(/^\/\*+|\*+\/$|^\/\/+/g, "")
    .replace(/^[ \t]*\* ?/gm, "")
    .replace(/@\w+(?:\s+\w+(?=\s+-))?/g, "")
    .replace(/\n(?!\s*\n)/g, " ")
    .trim();
}

function messageText(raw: string): string {
  return raw.replace(/^["'`}]|["'`]$|\$\{$/g, "").replaceAll("\\n", "\n");
}

/** `@example` and the lines of code below it. */
function withoutExample(raw: string): string {
  return raw.replace(/@example[\s\S]*?(?=\n[ \t]*\* @|\*\/|$)/g, blank);
}

function isProse(text: string): boolean {
  return /[A-Za-z]{2,}\s+[A-Za-z]/.test(text) && !/^(?:biome-ignore|@ts-)/.test(text);
}

/** A text for people: it begins as a sentence and has three words. */
function isMessage(text: string): boolean {
  return (
    /^[A-Z]\S*(?:\s+\S+){2,}/.test(text.trim()) &&
    !/^[A-Z_ (),*="']+$/.test(text) &&
    !/^(?:SELECT|INSERT|UPDATE|CREATE|PRAGMA|DELETE|WITH)\b/.test(text.trim())
  );
}

function withoutFences(source: string): string {
  return source.replace(/^([ \t]*)(```|~~~)[\s\S]*?^\1\2[ \t]*$/gm, blank).replace(/<!--[\s\S]*?-->/g, blank);
}

function blank(text: string): string {
  return text.replace(/[^\n]/g, " ");
}

function startsLine(source: string, at: number): boolean {
  return /(?:^|\n)[ \t]*$/.test(source.slice(Math.max(0, at - 80), at));
}

function lineOf(source: string, at: number): number {
  return source.slice(0, at).split("\n").length;
}
