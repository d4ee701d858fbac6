// Runs every bench/**/*.bench.ts, or only those whose path contains one of the words given: `npm run bench -- tokens`.
import { globSync } from "node:fs";
import { loudly } from "./command.ts";
import { root } from "./root.ts";

const words = process.argv.slice(2);
const files = globSync("bench/**/*.bench.ts", { cwd: root })
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort();

if (files.length === 0) console.error("No bench file matches.");
for (const file of files) {
  console.log(`\n${file}`);
  if ((await loudly(`node "${file}"`)) !== 0) process.exitCode = 1;
}
