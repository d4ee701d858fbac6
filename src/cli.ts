#!/usr/bin/env node
// An older Node fails at the first name it does not know, so the version is checked before anything else is loaded.
try {
  await import("./thread/node-version.ts");
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`); // the check throws nothing else
  process.exit(1);
}
await (await import("./cli/main.ts")).start();

export {};
