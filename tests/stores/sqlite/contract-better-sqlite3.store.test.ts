import { test } from "vitest";
import { contractOn } from "./support/contract-on.ts";

for (const { name, group, run, skip } of contractOn("better-sqlite3")) test.skipIf(skip)(`${group}: ${name}`, run);
