import { defineAgent, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import type { Page, Route } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { ask, atRest, chromium, Stage, seriousViolations, shoot } from "./support/stage.ts";

const REFUSED = {
  error: { code: "store_unreachable", message: "The database does not answer. Look whether it runs." },
};

describe.runIf(chromium)("Trouble", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open({ store: memoryStore() });
    await stage.page.locator("#first-ask").fill("What is 3 * 3?");
    await stage.page.keyboard.press("Enter");
    await atRest(stage.page);
  });
  afterEach(async () => {
    await stage.page.unrouteAll();
    stage.complaints.splice(0); // a browser tells its console of whatever a server refuses
  });
  afterAll(() => stage?.close());

  const row = () => stage.page.locator(".thread-row", { hasText: "3 * 3" });

  test("an ask that the server refuses says why and what to do, and loses no word", async () => {
    const page = await stage.toStart();
    await row().click();
    await page.locator("#composer").waitFor();
    await page.route("**/ask", (route) => refuse(route, 503));
    await ask(page, "What is 4 * 4?");
    const toast = page.locator(".toast.error");
    await toast.waitFor();
    expect(await toast.textContent()).toContain("Look whether it runs.");
    expect(await toast.locator("code").textContent()).toBe("store_unreachable");
    expect(await page.inputValue("#composer")).toBe("What is 4 * 4?");
    await shoot(page, "ask-refused");
    expect(await seriousViolations(page)).toEqual([]);
    await page.unrouteAll();
    await page.press("#composer", "Enter");
    await page.locator(".turn.assistant .markdown", { hasText: "16" }).waitFor();
    await atRest(page);
  });

  test("entries that cannot be read are reported, and read on retry", async () => {
    const page = await stage.toStart();
    await page.reload();
    await page.route("**/entries?*", (route) => refuse(route, 503));
    await row().click();
    await page.locator(".problem", { hasText: "store_unreachable" }).waitFor();
    await shoot(page, "entries-refused");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Try again" }).click();
    await page.locator(".turn.assistant", { hasText: "9" }).first().waitFor();
  });

  test("an answer of a shape that cannot be drawn leaves a word and ways on, not a blank page", async () => {
    const page = await stage.toStart();
    await page.reload();
    await page.route(/\/api\/threads\/[^/?]+$/, (route) => route.fulfill({ json: { id: "x" } }));
    await row().click();
    await expectBroken(page, "broken-thread");
    expect(await row().count()).toBe(1); // the rest of the page goes on
    await page.unrouteAll();
    await page.getByRole("link", { name: "All threads" }).click();
    await page.locator(".start .prompt").first().waitFor();
    await row().click();
    await page.locator(".turn.assistant", { hasText: "9" }).first().waitFor();
  });

  test("one view that cannot be drawn leaves the others", async () => {
    const page = await stage.toStart();
    await page.reload();
    await page.route(/\/calls\/[^/?]+$/, (route) => route.fulfill({ json: {} }));
    await row().click();
    await page.getByRole("tab", { name: "Model calls" }).click();
    await expectBroken(page, "broken-view");
    await page.getByRole("tab", { name: "Timeline" }).click();
    await page.locator(".entry-row .text").first().waitFor();
  });

  test("a Studio that returns no facts about itself is reported by the page", async () => {
    const page = await stage.toStart();
    await page.route("**/api/info", (route) => route.fulfill({ json: {} }));
    await page.reload();
    await expectBroken(page, "broken-info");
    await page.unrouteAll();
    await page.getByRole("button", { name: "Reload the page" }).click();
    await page.locator(".start .prompt").first().waitFor();
  });

  test("an uncaught error is shown, and the page continues", async () => {
    const page = await stage.toStart();
    await page.evaluate("void Promise.reject(new Error('nobody has caught me'))");
    const bar = page.locator(".unexpected", { hasText: "nobody has caught me" });
    await bar.waitFor();
    await shoot(page, "unexpected");
    expect(await seriousViolations(page)).toEqual([]);
    await bar.getByLabel("Dismiss").click();
    await page.evaluate("setTimeout(() => { throw new Error('nor me') })");
    await page.locator(".unexpected", { hasText: "nor me" }).getByLabel("Dismiss").click();
    await row().click();
    await page.locator(".turn.assistant", { hasText: "9" }).first().waitFor();
  });
});

test.runIf(chromium)("a model that refuses is shown in the thread, with a code and advice", async () => {
  const model = scriptedModel(["Yes.", { error: { status: 401 } }, "Now it is."]);
  const stage = await Stage.open({ agent: defineAgent({ model }) });
  try {
    const { page } = stage;
    await page.locator("#first-ask").fill("Is anybody there?");
    await page.keyboard.press("Enter");
    await atRest(page);
    await ask(page, "Still there?");
    await page.locator(".thread-head .pill.state-failed").waitFor();
    await shoot(page, "model-refused");
    const line = page.locator(".chat-line.tone-error", { hasText: "Check the key, the permissions and the billing." });
    await line.waitFor();
    expect(await line.textContent()).toContain("model_auth");
    await expect.poll(() => page.locator(".announcer").textContent()).toContain("model_auth");
    expect(await seriousViolations(page)).toEqual([]);
    await ask(page, "And now?");
    await page.locator(".turn.assistant .markdown", { hasText: "Now it is." }).waitFor();
    await atRest(page);
    expect(stage.complaints).toEqual([]);
  } finally {
    await stage.close();
  }
});

const refuse = (route: Route, status: number) => route.fulfill({ status, json: REFUSED });

async function expectBroken(page: Page, name: string): Promise<void> {
  await page.locator(".problem", { hasText: "Unexpected error on this page" }).waitFor();
  await page.getByRole("button", { name: "Reload the page" }).waitFor();
  await shoot(page, name);
  expect(await seriousViolations(page)).toEqual([]);
}
