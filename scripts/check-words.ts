// Prints every finding of word-findings.ts and fails if there is one. `node scripts/check-words.ts src/tokens` checks one folder.
import { isBelow, wordFindings } from "./word-findings.ts";

const folders = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const findings = (await wordFindings()).filter(({ path }) => folders.length === 0 || isBelow(folders, path));
for (const { path, line, problem } of findings) console.log(`${path}:${line} ${problem}`);
if (findings.length > 0) {
  console.log(`${findings.length} findings. The lists are in scripts/words.`);
  process.exitCode = 1;
}
