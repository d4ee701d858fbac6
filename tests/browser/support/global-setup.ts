import type { TestProject } from "vitest/node";
import { findBrowser } from "./find-browser.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the browser is; empty when there is none. */
    readonly chromium: string;
  }
}

/** Looked for once, before any test: two that install at the same time would stand in each other's way. */
export function setup(project: TestProject): void {
  const say = (text: string) => process.stderr.write(`${text}\n`);
  const found = findBrowser({ say });
  project.provide("chromium", found.path ?? "");
  if (found.path === undefined) say(`The browser tests are skipped. ${found.why}`);
  else say(`Browser for the tests: ${found.version} from ${found.path}`);
}
