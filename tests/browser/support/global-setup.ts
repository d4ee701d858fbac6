import type { TestProject } from "vitest/node";
import { FIREFOX, findBrowser } from "./find-browser.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Paths of the browsers; empty where there is none. */
    readonly chromium: string;
    readonly firefox: string;
  }
}

/** Looked for once, before any test: two that install at the same time would stand in each other's way. */
export function setup(project: TestProject): void {
  const say = (text: string) => process.stderr.write(`${text}\n`);
  const found = { chromium: findBrowser({ say }), firefox: findBrowser({ kind: FIREFOX, say }) };
  for (const [name, { path, version, why }] of Object.entries(found)) {
    project.provide(name as keyof typeof found, path ?? ""); // the keys of the object above
    say(
      path === undefined
        ? `The tests in ${name} are skipped. ${why}`
        : `Browser for the tests: ${version} from ${path}`,
    );
  }
}
