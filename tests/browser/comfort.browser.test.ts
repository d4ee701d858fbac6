import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HandClock } from "./support/hand-clock.ts";
import { atRest, chromium, fromMenu, Stage, seriousViolations, shoot, shortcut } from "./support/stage.ts";

/** What a phone of today has. */
const PHONE = { width: 390, height: 844 } as const;
/** A window of 1440 to 900 at 200 %. */
const ZOOMED = { width: 720, height: 450 } as const;

describe.runIf(chromium)("Comfort", () => {
  let stage: Stage;
  const clock = new HandClock();
  beforeAll(async () => {
    stage = await Stage.open({ wordMs: 1, after: clock.after });
  });
  afterAll(async () => {
    clock.pass(Number.POSITIVE_INFINITY);
    await stage?.close();
  });

  test("an answer is announced once, when it is there, and nothing moves for users who prefer no motion", async () => {
    const { page } = stage;
    await page.emulateMedia({ reducedMotion: "reduce" });
    await page.locator(".prompt", { hasText: "Think step by step" }).click();
    await page.locator(".turn.live").waitFor();
    await page.evaluate(LISTEN);
    clock.pass(6);
    await page.locator(".turn.live", { hasText: "I am asked" }).waitFor();
    expect(await page.evaluate("document.getAnimations().length")).toBe(0);
    clock.pass(Number.POSITIVE_INFINITY);
    await atRest(page);
    await expect.poll(() => page.evaluate("announced.at(-1)")).toContain("So the books cost more.");
    const announced = await page.evaluate<string[]>("announced");
    expect(announced.filter((text) => text.startsWith("Answer:"))).toHaveLength(1);
    expect(announced.length).toBeLessThan(5); // the status, and the answer: neither words nor calls
    expect(stage.complaints).toEqual([]);
  });

  test("on a phone and at 200 % everything fits, and a finger finds it", async () => {
    clock.pass(Number.POSITIVE_INFINITY);
    const page = await stage.toStart();
    await page.locator(".prompt", { hasText: "Send 20 euros" }).click();
    await page.getByRole("button", { name: "Approve" }).waitFor();
    const found: string[] = [];
    for (const [name, size] of [
      ["phone", PHONE],
      ["zoomed", ZOOMED],
    ] as const) {
      await page.setViewportSize(size);
      found.push(...(await misfits(page, `${name} approval`)));
      await shoot(page, `${name}-approval`);
      for (const [key, ready] of [
        ["2", ".entry-row .text"],
        ["3", ".badge.proven"],
        ["4", ".outcome .budget"],
      ] as const) {
        await shortcut(page, key);
        await page.locator(ready).first().waitFor();
        await shoot(page, `${name}-${key}`);
        found.push(...(await misfits(page, `${name} ${key}`)));
      }
      await shortcut(page, "1");
      await page.locator("#composer").waitFor();
    }
    await page.setViewportSize(PHONE);
    await page.locator(".menu summary").click();
    found.push(...(await misfits(page, "menu")));
    expect(await seriousViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Threads" }).click();
    await page.locator(".list-open .thread-row").first().waitFor();
    found.push(...(await misfits(page, "list")));
    await shoot(page, "phone-list");
    expect(await seriousViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await shortcut(page, "i");
    await page.locator(".inspector").waitFor();
    found.push(...(await misfits(page, "inspector")));
    await shoot(page, "phone-inspector");
    expect(await seriousViolations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await fromMenu(page, "Replace or switch context");
    found.push(...(await misfits(page, "dialog")));
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Approve" }).click();
    await atRest(page);
    expect(found).toEqual([]);
    expect(stage.complaints).toEqual([]);
  });
});

/** Keeps what each live region has said. */
const LISTEN = `{
  globalThis.announced = [];
  const regions = "[role=status], [role=alert], [aria-live=polite], [aria-live=assertive], [role=log]:not([aria-live=off])";
  const said = new Map();
  const listen = () => {
    for (const region of document.querySelectorAll(regions)) {
      const text = region.textContent.trim();
      if (said.get(region) === text) continue;
      said.set(region, text);
      if (text !== "") announced.push(text);
    }
  };
  listen();
  announced.length = 0;
  new MutationObserver(listen).observe(document.body, { childList: true, characterData: true, subtree: true });
}`;

/** What is wider than the window, and what a finger would miss. */
async function misfits(page: Page, screen: string): Promise<string[]> {
  const wide = await page.evaluate<number>("document.documentElement.scrollWidth - innerWidth");
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate(() =>
    (globalThis as unknown as { axe: typeof axe }).axe.run({ runOnly: { type: "rule", values: ["target-size"] } }),
  );
  const small = violations.flatMap(({ nodes }) =>
    nodes.map(({ target }) => `${screen}: too small: ${target.join(" ")}`),
  );
  return wide > 0 ? [...small, `${screen}: ${wide} pixels too wide`] : small;
}
