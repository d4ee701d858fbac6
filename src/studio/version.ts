import { readFileSync } from "node:fs";

const facts: { readonly version: string } = JSON.parse(
  readFileSync(new URL("../../package.json", import.meta.url), "utf8"),
);

/** The version of this package. */
export const VERSION = facts.version;
