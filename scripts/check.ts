// `npm run check` builds and runs every `check:*` script of package.json, a few at a time.
import { buildAndCheck } from "./checks.ts";

process.exitCode = (await buildAndCheck()).failed === 0 ? 0 : 1;
