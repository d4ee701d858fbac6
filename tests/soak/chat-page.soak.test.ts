import { afterAll, describe, inject, test } from "vitest";
import { SCENARIOS } from "../browser/chat-page/scenarios.ts";
import { closeBrowsers, type Setting } from "../browser/chat-page/stage.ts";

const BROWSERS = [
  { browser: "chrome", executablePath: inject("chromium") },
  { browser: "firefox", executablePath: inject("firefox") },
] as const;

const SETTINGS: readonly Setting[] = BROWSERS.flatMap((browser) =>
  ([7, 6] as const).flatMap((client) =>
    (["Hono", "node:http", "Next.js"] as const).flatMap((server) =>
      [false, true].map((isOfSdk) => ({ ...browser, client, server, isOfSdk })),
    ),
  ),
);

afterAll(() => closeBrowsers());

for (const setting of SETTINGS) {
  const { browser, client, server, isOfSdk, executablePath } = setting;
  const transport = isOfSdk ? "the transport of the AI SDK" : "the transport and the hook";
  describe.runIf(executablePath)(`A chat page in ${browser}, AI SDK ${client}, ${server}, ${transport}`, () => {
    const scenarios = SCENARIOS.filter(({ isForSdk, hasOwnServer }) => {
      return (isForSdk || !isOfSdk) && (!hasOwnServer || server === "Hono");
    });
    test.each(scenarios)("$name", ({ run }) => run(setting));
  });
}
