import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { atRest, chromium, Stage, shoot } from "./support/stage.ts";

describe.runIf(chromium)("By keyboard alone", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage?.close());

  test("a user asks, reads the context of the call, follows a message to its entries and back, and asks again", async () => {
    const page = await stage.toStart();
    const press = (...keys: string[]) => keys.reduce((done, key) => done.then(() => page.keyboard.press(key)), done());
    await write(page, "What is (17 + 25) * 3?");
    await atRest(page);
    await page.locator(".turn.assistant .markdown", { hasText: "126" }).waitFor();
    await page.locator("#composer:focus").waitFor();
    await tabTo(page, "a.foot-link", "Shift+Tab");
    await press("Enter");
    await page.locator(".badge.proven").waitFor();
    expect(page.url()).toContain("/call/");
    await press("[");
    await expect.poll(() => page.locator(".call-place").textContent()).toMatch(/^1\b/);
    await press("]");
    await expect.poll(() => page.locator(".call-place").textContent()).toMatch(/^2\b/);
    await page.locator(".message").nth(3).waitFor();
    await tabTo(page, '.message[data-index="2"] .message-head');
    await page.locator(".why.lit .seq", { hasText: /^1$/ }).waitFor();
    await shoot(page, "keyboard-message");
    await tabTo(page, ".entries .virtual");
    await press("Home", "ArrowDown", "ArrowDown");
    await page.locator('.message.lit[data-index="3"]').waitFor();
    await shoot(page, "keyboard-entry");
    await press("Escape", "1");
    await write(page, "And times 3?");
    await page.locator(".turn.assistant .markdown", { hasText: "378" }).waitFor();
    await atRest(page);
    expect(stage.complaints).toEqual([]);
  });

  test("the menu opens, is left again with its place kept, and does what is chosen", async () => {
    const page = await stage.toStart();
    await write(page, "What is 2 * 3?");
    await atRest(page);
    await page.keyboard.press("Escape");
    await tabTo(page, ".menu summary");
    await page.keyboard.press("Enter");
    await page.locator(".menu-items").waitFor();
    await tabTo(page, ".menu-items button");
    await page.keyboard.press("Escape");
    await page.locator(".menu-items").waitFor({ state: "hidden" });
    expect(await focused(page, ".menu summary")).toBe(true);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.locator(".toast", { hasText: "The context was reset" }).waitFor();
    expect(stage.complaints).toEqual([]);
  });

  test("wherever the focus goes it is seen", async () => {
    const page = await stage.toStart();
    const unseen: string[] = [...(await unseenStops(page, "start"))];
    await write(page, "Send 20 euros to Ada.");
    await page.getByRole("button", { name: "Approve" }).waitFor();
    unseen.push(...(await unseenStops(page, "approval")));
    await page.getByRole("button", { name: "Approve" }).press("Enter");
    await atRest(page);
    for (const [key, ready] of [
      ["2", ".entry-row .text"],
      ["3", ".badge.proven"],
      ["4", ".outcome .budget"],
    ] as const) {
      await page.locator("main").focus();
      await page.keyboard.press(key);
      await page.locator(ready).first().waitFor();
      unseen.push(...(await unseenStops(page, key)));
    }
    expect(unseen).toEqual([]);
  });
});

const done = () => Promise.resolve();

async function write(page: Page, text: string): Promise<void> {
  await page.keyboard.press("c");
  await page.locator(":is(#composer, #first-ask):focus").waitFor();
  await page.keyboard.type(text);
  await page.keyboard.press("Enter");
}

const focused = (page: Page, selector: string) =>
  page.evaluate<boolean>(`document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`);

async function tabTo(page: Page, selector: string, key: "Tab" | "Shift+Tab" = "Tab"): Promise<void> {
  for (let stop = 0; stop < 80; stop++) {
    await page.keyboard.press(key);
    if (await focused(page, selector)) return;
  }
  throw new Error(`${key} never comes to ${selector}.`);
}

/** Goes round the page once, by Tab, and answers where nobody could see that the focus is there. */
async function unseenStops(page: Page, screen: string): Promise<string[]> {
  await page.evaluate("document.activeElement?.blur()");
  const unseen: string[] = [];
  const known = new Set<string>();
  for (let stop = 0; stop < 120; stop++) {
    await page.keyboard.press("Tab");
    const { name, isSeen, isPage } = await page.evaluate<{ name: string; isSeen: boolean; isPage: boolean }>(STOP);
    if (isPage && known.size > 0) return unseen;
    if (!isSeen && !isPage) unseen.push(`${screen}: ${name}`);
    known.add(name);
  }
  return unseen;
}

/** An outline, or the ring of the box around a field; and not transparent, not outside of the window. */
const STOP = `(() => {
  const at = document.activeElement;
  if (at === null || at === document.body) return { name: "page", isSeen: false, isPage: true };
  const style = getComputedStyle(at);
  const ring = at.closest(".composer-box");
  const isRinged = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1;
  const isBoxed = ring !== null && getComputedStyle(ring).boxShadow !== "none";
  const { top, bottom, left, right, width, height } = at.getBoundingClientRect();
  const isInside = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth && width > 0 && height > 0;
  const isSeen = (isRinged || isBoxed) && isInside && Number(style.opacity) > 0.5;
  return { name: at.tagName + "." + at.className + " " + (at.textContent ?? "").slice(0, 30), isSeen, isPage: false };
})()`;
