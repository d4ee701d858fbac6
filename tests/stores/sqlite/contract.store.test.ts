import { test } from "vitest";
import { contractOn } from "./support/contract-on.ts";

for (const { name, group, run, skip } of contractOn("sqlite")) test.skipIf(skip)(`${group}: ${name}`, run);
