#!/usr/bin/env node
// An older Node fails at the first name it does not know. So what to do is said before anything else is loaded.
const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major > 22 || (major === 22 && minor >= 13)) await (await import("./cli/start.ts")).start();
else {
  process.stderr.write(`heddle needs Node 22.13 or later, and this is ${process.version}. Install a newer Node.\n`);
  process.exitCode = 1;
}

export {};
