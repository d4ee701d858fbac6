// `node scripts/sample-comments.ts --seed 7` prints 40 comments of src and studio-ui, each with the line of code it belongs to.
// Every comment is equally likely, and a seed and a tree always give the same ones. A reader who has not seen the code
// restates each; a wrong answer means an unclear comment.
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { root } from "./root.ts";
import { type SourceText, textsOfSource } from "./source-texts.ts";

const COUNT = 40;

const { values } = parseArgs({ options: { seed: { type: "string" } } });
if (values.seed === undefined) throw new Error("Give a seed: --seed 7");

const comments = globSync(["src/**/*.ts", "studio-ui/**/*.{ts,tsx}"], { cwd: root })
  .map((path) => path.replaceAll("\\", "/"))
  .flatMap((path) => {
    const source = readFileSync(root + path, "utf8");
    const texts = textsOfSource(source).filter(({ kind }) => kind === "comment");
    return texts.map((text) => ({ path, text: text.text.replace(/\s+/g, " "), code: codeOf(source, text) }));
  });

// The order of the hashes is the draw. A line number is not part of it, so that an edit moves no other comment.
const drawn = comments
  .map((comment) => ({ ...comment, rank: hashOf([values.seed, comment.path, comment.text, comment.code].join("\n")) }))
  .sort((a, b) => (a.rank < b.rank ? -1 : 1))
  .slice(0, COUNT);
for (const [index, { path, text, code }] of drawn.entries()) {
  console.log(`${String(index + 1).padStart(2)}. ${path}\n    ${text}\n    > ${code}`);
}

/** The code before a comment at the end of a line, else the first line of code below the comment. */
function codeOf(source: string, { line, lastLine = line }: SourceText): string {
  const lines = source.split("\n");
  const beside = (lines[line - 1] ?? "").split(/\/[/*]/)[0]?.trim() ?? "";
  const below = lines.slice(lastLine).find((each) => each.trim() !== "" && !/^\s*(?:\/[/*]|\*)/.test(each));
  return beside === "" || beside === "{" ? (below ?? "").trim() : beside;
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
