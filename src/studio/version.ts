import { readFileSync } from "node:fs";

const facts: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
);

/** Of this package. */
export const VERSION = facts.version;
