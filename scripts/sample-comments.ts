// `node scripts/sample-comments.ts --seed 7` prints 40 comments of src, the same for a seed and a tree; `--where` adds their
// places. A reader who has not seen the code restates each; a wrong answer means an unclear comment.
import { createHash } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { root } from "./root.ts";
import { textsOfSource } from "./source-texts.ts";

const COUNT = 40;

const { values } = parseArgs({ options: { seed: { type: "string" }, where: { type: "boolean", default: false } } });
if (values.seed === undefined) throw new Error("Give a seed: --seed 7");

// The runtime is rebuilt later; its comments count from then on.
const comments = globSync("src/**/*.ts", { cwd: root })
  .map((path) => path.replaceAll("\\", "/"))
  .filter((path) => !path.startsWith("src/runtime/"))
  .sort()
  .flatMap((path) => {
    const texts = textsOfSource(readFileSync(root + path, "utf8")).filter(({ kind }) => kind === "comment");
    return texts.map(({ line, text }) => ({ place: `${path}:${line}`, text: text.replace(/\s+/g, " ") }));
  });

// The order of the hashes is the draw, so that a changed comment moves no other one.
const drawn = comments
  .map((comment) => ({ ...comment, rank: hashOf(`${values.seed} ${comment.place} ${comment.text}`) }))
  .sort((a, b) => (a.rank < b.rank ? -1 : 1))
  .slice(0, COUNT);
for (const [index, { place, text }] of drawn.entries()) {
  console.log(`${String(index + 1).padStart(2)}. ${text}${values.where ? `  (${place})` : ""}`);
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}
