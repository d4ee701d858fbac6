import { afterAll, describe, inject, test } from "vitest";
import { SCENARIOS } from "../browser/chat-page/scenarios.ts";
import { closeBrowsers, type Setting } from "../browser/chat-page/stage.ts";

const BROWSERS = [
  { browser: "chrome", executablePath: inject("chromium") },
  { browser: "firefox", executablePath: inject("firefox") },
] as const;

const MATRIX: readonly Setting[] = BROWSERS.flatMap((browser) =>
  ([7, 6] as const).flatMap((client) =>
    (["Hono", "node:http", "Next.js"] as const).flatMap((server) =>
      [false, true].map((isOfSdk) => ({ ...browser, client, server, isOfSdk })),
    ),
  ),
);

const SETTINGS: readonly Setting[] = [
  ...MATRIX,
  ...BROWSERS.flatMap((browser) =>
    ([7, 6] as const).map((client) => ({ ...browser, client, server: "Hono", pods: inject("postgresUrl") }) as const),
  ),
];

afterAll(() => closeBrowsers());

for (const setting of SETTINGS) {
  const { browser, client, isOfSdk, executablePath, pods } = setting;
  const server = pods === undefined ? setting.server : "two servers";
  const transport = isOfSdk ? "the transport of the AI SDK" : "the transport and the hook";
  describe.runIf(executablePath)(`A chat page in ${browser}, AI SDK ${client}, ${server}, ${transport}`, () => {
    const scenarios = SCENARIOS.filter(({ isForSdk, hasOwnServer }) => {
      return (isForSdk || !isOfSdk) && (!hasOwnServer || setting.server === "Hono");
    });
    test.each(scenarios)("$name", ({ run }) => run(setting));
  });
}
