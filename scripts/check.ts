// `npm run check` runs every `check:*` script of package.json, a few at a time. All need a fresh dist.
import { runChecks } from "./checks.ts";

process.exitCode = (await runChecks()) === 0 ? 0 : 1;
