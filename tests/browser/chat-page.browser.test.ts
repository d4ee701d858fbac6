import { afterAll, describe, inject, test } from "vitest";
import { SCENARIOS, type Scenario } from "./chat-page/scenarios.ts";
import { closeBrowsers, type Setting } from "./chat-page/stage.ts";

const chrome = { browser: "chrome", executablePath: inject("chromium"), client: 7, server: "Hono" } as const;
const firefox = { ...chrome, browser: "firefox", executablePath: inject("firefox") } as const;
const starting = (...numbers: number[]): readonly Scenario[] =>
  SCENARIOS.filter(({ name }) => numbers.includes(Number.parseInt(name, 10)));

/** The soak has all scenarios with every client, browser and server. */
const SETTINGS: readonly (Setting & { readonly title: string; readonly scenarios: readonly Scenario[] })[] = [
  { ...chrome, title: "in Chromium with AI SDK 7", scenarios: SCENARIOS },
  { ...chrome, title: "in Chromium with AI SDK 6", client: 6, server: "node:http", scenarios: starting(8, 13) },
  { ...chrome, title: "with the transport of the AI SDK", isOfSdk: true, scenarios: starting(10) },
  {
    ...chrome,
    title: "behind a load balancer, of two servers",
    pods: inject("postgresUrl"),
    scenarios: starting(3, 13, 23),
  },
  { ...firefox, title: "in Firefox with AI SDK 7", scenarios: starting(19) },
];

afterAll(() => closeBrowsers());

for (const { title, scenarios, ...setting } of SETTINGS) {
  describe.runIf(setting.executablePath)(`A chat page ${title}`, () => {
    test.each(scenarios)("$name", ({ run }) => run(setting));
  });
}
