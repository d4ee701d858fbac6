// Finds banned words, long sentences, statements that begin with "What" or "Who", and misspelled words.
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { quietly } from "./command.ts";
import { root } from "./root.ts";
import { type SourceText, sentencesOf, testNamesOf, textsOfMarkdown, textsOfSource } from "./source-texts.ts";

export interface WordFinding {
  readonly path: string;
  /** From 1. */
  readonly line: number;
  readonly problem: string;
}

const MAX_WORDS = 30;
const FILES = [
  "*.md",
  ".github/**/*.md",
  "{docs,bench,examples}/**/*.md",
  "{src,scripts,studio-ui,bench,examples,tests}/**/*.{ts,tsx}",
];
const isTest = (path: string): boolean => path.startsWith("tests/");

/** Checks every file that `scripts/words/excluded.txt` does not name. In tests, only names of tests and spelling. */
export async function wordFindings(): Promise<readonly WordFinding[]> {
  const excluded = linesOf("excluded.txt").map(([path]) => path);
  const missing = excluded.filter((path) => !existsSync(root + path));
  if (missing.length > 0)
    throw new Error(`scripts/words/excluded.txt names paths that do not exist: ${missing.join(", ")}`);
  const files = globSync(FILES, { cwd: root, exclude: ["**/node_modules"] })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => !isBelow(excluded, path))
    .sort();
  return [...files.flatMap(wordingOf), ...(await misspelled(files))].sort(
    (a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0) || a.line - b.line,
  );
}

export function isBelow(folders: readonly string[], path: string): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

const banned = linesOf("banned.txt").map(([pattern, instead]) => ({
  pattern: new RegExp(`\\b(?:${pattern.replaceAll(" ", "\\s+")})\\b`, "i"),
  instead,
}));

function wordingOf(path: string): readonly WordFinding[] {
  const source = readFileSync(root + path, "utf8");
  const textsOf = path.endsWith(".md") ? textsOfMarkdown : isTest(path) ? testNamesOf : textsOfSource;
  return textsOf(source).flatMap((text) => problemsOf(text).map((problem) => ({ path, line: text.line, problem })));
}

function problemsOf({ text }: SourceText): readonly string[] {
  return sentencesOf(text).flatMap((found) => {
    const sentence = found.replace(/\s+/g, " ");
    const words = sentence.split(/\s+/).filter((word) => /[A-Za-z0-9]/.test(word)).length;
    return [
      ...banned.flatMap(({ pattern, instead }) => {
        const [used] = pattern.exec(sentence) ?? [];
        return used === undefined ? [] : [`"${used}": say ${instead} ("${sentence.slice(0, 60)}")`];
      }),
      ...(/^(?:What|Who|Whom|Whose|Whatever|Whichever)(?![\w-])/.test(sentence) && !sentence.includes("?")
        ? [`a statement begins with "${sentence.split(" ")[0]}": name the thing ("${sentence.slice(0, 60)}")`]
        : []),
      ...(words > MAX_WORDS
        ? [`a sentence of ${words} words: at most ${MAX_WORDS} ("${sentence.slice(0, 60)}...")`]
        : []),
    ];
  });
}

/** cspell splits identifiers, so it checks code as well as prose. */
async function misspelled(paths: readonly string[]): Promise<readonly WordFinding[]> {
  const folder = mkdtempSync(join(tmpdir(), "heddle-words-"));
  try {
    const list = join(folder, "files.txt");
    writeFileSync(list, paths.map((path) => join(root, path)).join("\n"));
    const flags = "--dot --no-progress --no-summary --no-color --no-gitignore --relative";
    const run = await quietly(`cspell lint ${flags} --config scripts/words/cspell.json --file-list "${list}"`);
    const found = run.output.split("\n").flatMap((text) => {
      const match = /^(.+):(\d+):\d+ - Unknown word \(([^)]+)\)/.exec(text);
      if (match === null) return [];
      const [, path = "", line = "", word = ""] = match;
      const problem = `"${word}" is misspelled (American spelling), or belongs in scripts/words/dictionary.txt`;
      return [{ path: path.replaceAll("\\", "/").replace(/^\.\//, ""), line: Number(line), problem }];
    });
    if (!run.ok && found.length === 0) throw new Error(`cspell failed:\n${run.output}`);
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The lines `left = right` of a list, without comments. */
function linesOf(name: string): readonly (readonly [left: string, right: string])[] {
  return readFileSync(`${root}scripts/words/${name}`, "utf8")
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => {
      const [left = "", right = ""] = line.split(" = ");
      return [left.trim(), right.trim()] as const;
    });
}
