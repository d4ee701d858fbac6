// Checks the words of docs, comments and messages: spelling, words that are not used, long sentences. A finding in a file of
// scripts/words/clean.txt fails; elsewhere findings are counted for each folder. `--all src/tokens` prints those of a folder.
import { globSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { quietly } from "./command.ts";
import { root } from "./root.ts";
import { onlyProse, type SourceText, sentencesOf, textsOfMarkdown, textsOfSource } from "./source-texts.ts";

interface Finding {
  readonly path: string;
  readonly line: number;
  readonly problem: string;
}

const MOST_WORDS = 30;
/** Rebuilt later; its text counts from then on. */
const LEFT_OUT = /^src\/runtime\//;

const clean = listOf("clean.txt");
const banned = listOf("banned.txt").map((line) => {
  const [words = "", instead = ""] = line.split(" = ");
  return { words, instead, pattern: new RegExp(`\\b${words.replaceAll(" ", "\\s+")}\\b`, "i") };
});

const files = globSync(["*.md", ".github/**/*.md", "docs/**/*.md", "{src,scripts,studio-ui}/**/*.{ts,tsx}"], {
  cwd: root,
})
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => !LEFT_OUT.test(path))
  .sort();
const findings = [...files.flatMap(inFile), ...(await misspelled(files))];

const all = process.argv.indexOf("--all");
const shown = all === -1 ? clean : [process.argv[all + 1] ?? ""];
for (const { path, line, problem } of findings.filter((finding) => isBelow(shown, finding))) {
  console.log(`${path}:${line} ${problem}`);
  process.exitCode = 1;
}
const left = new Map<string, number>();
for (const finding of findings.filter((each) => !isBelow(clean, each))) {
  const folder = finding.path.split("/").slice(0, 2).join("/");
  left.set(folder, (left.get(folder) ?? 0) + 1);
}
for (const [folder, count] of left) console.log(`${String(count).padStart(5)} left in ${folder}`);
const free = new Set(files.map((path) => path.split("/").slice(0, 2).join("/")));
for (const folder of free) {
  if (!left.has(folder) && !isBelow(clean, { path: folder }))
    console.log(`   no findings in ${folder}: add it to clean.txt`);
}

function inFile(path: string): readonly Finding[] {
  const source = readFileSync(root + path, "utf8");
  const texts = path.endsWith(".md") ? textsOfMarkdown(source) : textsOfSource(source);
  return texts.flatMap((text) => problemsOf(text).map((problem) => ({ path, line: text.line, problem })));
}

function problemsOf({ text }: SourceText): readonly string[] {
  return sentencesOf(text).flatMap((sentence) => {
    const words = sentence.split(/\s+/).filter((word) => /[A-Za-z0-9]/.test(word)).length;
    return [
      ...banned
        .filter(({ pattern }) => pattern.test(sentence))
        .map(({ words: used, instead }) => `"${used}": say ${instead}`),
      ...(/^(?:What|Who|Whom|Whose)\b/.test(sentence) && !sentence.includes("?")
        ? [`a statement begins with "${sentence.split(" ")[0]}": name the thing ("${sentence.slice(0, 50)}")`]
        : []),
      ...(words > MOST_WORDS
        ? [`a sentence of ${words} words: at most ${MOST_WORDS} ("${sentence.slice(0, 50)}...")`]
        : []),
    ];
  });
}

/** cspell reads copies of the files that hold nothing but prose, at the same places. */
async function misspelled(paths: readonly string[]): Promise<readonly Finding[]> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), "heddle-words-")));
  try {
    for (const path of paths) {
      mkdirSync(dirname(join(folder, path)), { recursive: true });
      writeFileSync(join(folder, `${path}.txt`), onlyProse(path, readFileSync(root + path, "utf8")));
    }
    const config = join(root, "scripts/words/cspell.json");
    const flags = "--dot --no-progress --no-summary --no-color --no-gitignore --relative";
    const run = await quietly(`cspell lint ${flags} --config "${config}" --root "${folder}" "**/*.txt"`);
    const found = run.output.split("\n").flatMap((line) => {
      const match = /^(.+)\.txt:(\d+):\d+ - Unknown word \(([^)]+)\)/.exec(line);
      if (match === null) return [];
      const [, path = "", at = "", word = ""] = match;
      return [
        {
          path: pathIn(folder, path),
          line: Number(at),
          problem: `"${word}" is misspelled, or belongs into scripts/words/dictionary.txt`,
        },
      ];
    });
    if (!run.ok && found.length === 0) throw new Error(`cspell failed:\n${run.output}`);
    return found;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function pathIn(folder: string, path: string): string {
  const plain = path.replaceAll("\\", "/");
  const prefix = `${folder.replaceAll("\\", "/").split("/").at(-1)}/`;
  return plain.slice(plain.includes(prefix) ? plain.indexOf(prefix) + prefix.length : 0).replace(/^\.\//, "");
}

function isBelow(list: readonly string[], { path }: Pick<Finding, "path">): boolean {
  return list.some((entry) => path === entry || path.startsWith(`${entry}/`));
}

function listOf(name: string): readonly string[] {
  return readFileSync(`${root}scripts/words/${name}`, "utf8")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
}
