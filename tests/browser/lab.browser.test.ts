import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { atRest, chromium, NARROW, Stage, seriousViolations, shoot, shortcut, talk } from "./support/stage.ts";

describe.runIf(chromium)("Model calls and What-if", () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await Stage.open();
  });
  afterEach(() => stage.close());

  test("changes since the last call are shown, with the rule that caused them and a reason for each missing entry", async () => {
    const { page } = stage;
    await page.locator(".prompt", { hasText: "history of weaving" }).click();
    // The offered talk goes on by itself, chapter by chapter, until a summary has taken the place of the first ones.
    await page.locator(".turn.user").nth(6).waitFor();
    await atRest(page);
    await shortcut(page, "3");
    await page.locator(".badge.proven").waitFor();
    const moved = page.locator(".prefix-mark.moved");
    for (let tries = 0; tries < 12 && (await moved.count()) === 0; tries++) {
      const place = await page.locator(".call-place").textContent();
      await page.keyboard.press("[");
      await expect.poll(() => page.locator(".call-place").textContent()).not.toBe(place);
      await page.locator(".badge.proven").waitFor();
    }
    await moved.waitFor();
    await moved.scrollIntoViewIfNeeded();
    await shoot(page, "prefix-moved");
    await page.getByRole("button", { name: /^not shown/ }).click();
    expect(await page.locator(".why .reason").first().textContent()).toMatch(
      /covered by the summary|before the window/,
    );
    await shoot(page, "not-shown");
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole("tab", { name: "Diff" }).click();
    await page.locator(".cause.moved").waitFor();
    expect(await page.locator(".change").count()).toBeGreaterThan(0);
    await shoot(page, "diff");
    expect(await seriousViolations(page)).toEqual([]);
    for (const name of ["Wire", "Policy & settings"]) {
      await page.getByRole("tab", { name }).click();
      await page.locator(".json").first().waitFor();
      await shoot(page, `face-${name.slice(0, 4).toLowerCase()}`);
      expect(await seriousViolations(page)).toEqual([]);
    }
    expect(stage.complaints).toEqual([]);
  });

  test("a call shows the settings that held for it, and who set them", async () => {
    const { page, store } = stage;
    await page.locator(".prompt", { hasText: "(17 + 25) * 3" }).click();
    await atRest(page);
    const { threads } = await store.list();
    const setting = { type: "system_prompt", value: "Be brief." };
    await store.append(threads[0]?.id ?? "", { kind: "ai_setting", payload: { opId: "1", by: "ann", setting } });
    await talk(page, "And times 3?");
    await shortcut(page, "3");
    await page.locator(".badge.proven").waitFor();
    await page.locator(".why .reason", { hasText: "a setting" }).waitFor();
    await page.getByRole("tab", { name: "Policy & settings" }).click();
    const held = page.getByRole("list", { name: "Settings that held" });
    await held.waitFor();
    expect(await held.textContent()).toMatch(/entry #\d+ system prompt "Be brief\." · by ann/);
    await shoot(page, "face-settings");
    expect(await seriousViolations(page)).toEqual([]);
    await page.locator(".call-bar").first().click();
    await page.getByText("Nothing was set").waitFor();
    expect(stage.complaints).toEqual([]);
  });

  test("a message shows its entries, and an entry its message, by mouse and by keyboard", async () => {
    const { page } = stage;
    await page.locator(".prompt").first().click();
    await atRest(page);
    await shortcut(page, "3");
    await page.locator(".message").nth(2).hover();
    await page.locator(".why.lit .seq", { hasText: /^1$/ }).waitFor();
    expect(await page.locator(".why.lit").count()).toBe(1);
    await page.mouse.move(700, 60);
    await page.locator(".entries .virtual").focus();
    await page.keyboard.press("Home");
    await page.keyboard.press("ArrowDown");
    await page.locator('.message.lit[data-index="2"]').waitFor();
    expect(await page.locator(".message.lit").count()).toBe(1);
    await shoot(page, "provenance");
    expect(stage.complaints).toEqual([]);
  });

  test("the slider and the policy show at once what would have been sent, beside what was", async () => {
    const { page } = stage;
    await page.locator(".prompt").first().click();
    await atRest(page);
    for (const sum of ["What is 5 * 5?", "What is 6 * 6?", "What is 7 * 7?"]) await talk(page, sum);
    await shortcut(page, "4");
    await page.getByText("Exactly what was sent").waitFor();
    await shoot(page, "what-if-same");
    expect(await seriousViolations(page)).toEqual([]);
    await page.fill("#policy-maxTurns", "1");
    await page.fill("#policy-keepLastTurns", "1");
    await page.locator(".mark-pill.removed").first().waitFor();
    await shoot(page, "what-if-one-turn");
    await page.focus("#seq");
    await page.keyboard.press("Home");
    await page.getByText("#0", { exact: true }).first().waitFor();
    await page.fill("#policy-maxInputTokens", "1000");
    await page.getByText("Heddle would refuse this call").waitFor();
    expect(await page.locator(".refused code").textContent()).toBe("budget_overflow");
    await shoot(page, "what-if-refused");
    expect(await seriousViolations(page)).toEqual([]);
    await page.setViewportSize(NARROW);
    await shoot(page, "what-if-narrow");
    expect(stage.complaints).toEqual([]);
  });

  test("every view has an address, and keys for all of it are a question mark away", async () => {
    const { page } = stage;
    await page.locator(".prompt").first().click();
    await atRest(page);
    for (const [key, view] of [
      ["2", "timeline"],
      ["3", "calls"],
      ["4", "what-if"],
      ["1", "chat"],
    ] as const) {
      await shortcut(page, key);
      await page.locator(`.${view}`).waitFor();
      await page.reload();
      await page.locator(`.${view}`).waitFor();
      await page.setViewportSize(NARROW);
      await shoot(page, `narrow-${view}`);
      expect(await seriousViolations(page)).toEqual([]);
      await page.setViewportSize({ width: 1440, height: 900 });
    }
    await shortcut(page, "?");
    await page.locator("dialog[open]").waitFor();
    await shoot(page, "help");
    expect(await seriousViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await shortcut(page, "t");
    await shortcut(page, "t");
    expect(await page.locator("html").getAttribute("data-theme")).toBe("dark");
    expect(stage.complaints).toEqual([]);
  });
});
