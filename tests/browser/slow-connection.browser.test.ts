import { describe, expect, test } from "vitest";
import { atRest, chromium, Stage, shortcut } from "./support/stage.ts";

describe.runIf(chromium)("A slow connection", () => {
  test("a list that was loaded before a thread was created does not hide the thread", async () => {
    const stage = await Stage.open();
    try {
      const { page } = stage;
      const loaded = Promise.withResolvers<void>();
      const released = Promise.withResolvers<void>();
      await page.route(
        /\/api\/threads\?/,
        async (route) => {
          const response = await route.fetch();
          loaded.resolve();
          await released.promise;
          await route.fulfill({ response });
        },
        { times: 1 },
      );
      await page.reload();
      await loaded.promise;
      await page.locator(".prompt").first().click();
      await atRest(page);
      released.resolve();
      await page.locator(".thread-row").first().waitFor();
      expect(await page.locator(".thread-row").count()).toBe(1);
    } finally {
      await stage.close();
    }
  });

  test("model calls that end before the event stream has opened are shown", async () => {
    const stage = await Stage.open();
    try {
      const { page } = stage;
      // Requests of a shared worker cannot be held.
      await page.addInitScript(() => Reflect.deleteProperty(globalThis, "SharedWorker"));
      await page.reload();
      await page.locator(".prompt").first().waitFor();
      const released = Promise.withResolvers<void>();
      await page.route(/\/api\/events\?threads=/, async (route) => {
        await released.promise;
        await route.continue();
      });
      const loaded = page.waitForResponse(/\/calls\?/);
      await page.route(/\/ask$/, async (route) => {
        await loaded;
        await route.continue();
      });
      await page.locator(".prompt").first().click();
      await expect
        .poll(async () => {
          const response = await stage.fetch("/api/threads");
          const { threads } = (await response.json()) as { readonly threads: readonly { readonly status?: string }[] };
          return threads[0]?.status;
        })
        .toBe("completed");
      released.resolve();
      await atRest(page);
      await shortcut(page, "3");
      await page.locator(".badge.proven").waitFor();
      expect(stage.complaints).toEqual([]);
    } finally {
      await stage.close();
    }
  });
});
