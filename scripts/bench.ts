// Runs every bench/**/*.bench.ts, or only those whose path contains one of the words given: `npm run bench -- tokens`.
// Arguments that begin with a dash are for the benches: `npm run bench -- log --quick`.
import { globSync } from "node:fs";
import { loudly } from "./command.ts";
import { root } from "./root.ts";

const args = process.argv.slice(2);
const words = args.filter((arg) => !arg.startsWith("-"));
const options = args.filter((arg) => arg.startsWith("-")).map((option) => ` "${option}"`);
const files = globSync("bench/**/*.bench.ts", { cwd: root, exclude: ["**/node_modules"] })
  .filter((file) => words.length === 0 || words.some((word) => file.includes(word)))
  .sort();

if (files.length === 0) console.error("No bench file matches.");
for (const file of files) {
  console.error(`\n${file}`);
  if ((await loudly(`node "${file}"${options.join("")}`)) !== 0) process.exitCode = 1;
}
