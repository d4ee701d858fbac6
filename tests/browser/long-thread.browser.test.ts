import { type EntryInput, memoryStore } from "heddle";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isSoak } from "../support/case-budget.ts";
import { chromium, NARROW, Stage, seriousViolations, shoot } from "./support/stage.ts";

const LENGTH = isSoak ? 200_000 : 40_000;
const MIDDLE = LENGTH / 2;
const LATER = 0.75 * LENGTH;

describe.runIf(chromium)("A long thread", () => {
  let stage: Stage;
  beforeAll(async () => {
    const store = memoryStore();
    for (let from = 0; from < LENGTH; from += 10_000) {
      await store.append(
        "thread_long",
        Array.from({ length: 10_000 }, (_, i) => entryAt(from + i)),
      );
    }
    stage = await Stage.open({ store });
  });
  afterAll(() => stage?.close());

  test("of many entries scrolls, jumps, and reads no more than is in sight", async () => {
    const { page } = stage;
    const windows: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/entries")) windows.push(request.url());
    });
    await page.goto(`${stage.origin}/#/t/thread_long/timeline`);
    await page.locator(".entry-row .text", { hasText: `answer ${LENGTH - 1}` }).waitFor();
    await shoot(page, "long-end");
    await page.fill("#jump", String(MIDDLE + 3456));
    await page.press("#jump", "Enter");
    await page.locator(".entry-row .text", { hasText: `question ${MIDDLE + 3456}` }).waitFor();
    expect(page.url()).toContain(`/timeline/${MIDDLE + 3456}`);
    await page.locator(".inspector", { hasText: `Entry #${MIDDLE + 3456}` }).waitFor();
    await shoot(page, "long-middle");
    await page.locator(".virtual").focus();
    await page.keyboard.press("PageDown");
    await page.keyboard.press("Home");
    await page.locator(".entry-row .text", { hasText: "question 0" }).first().waitFor();
    for (let step = 1; step <= 20; step++) {
      await page.locator(".virtual").evaluate((box, share) => {
        box.scrollTop = box.scrollHeight * share;
      }, step / 20);
    }
    await page.locator(".entry-row .text", { hasText: `answer ${LENGTH - 1}` }).waitFor();
    expect(await page.locator(".entry-row").count()).toBeLessThan(100);
    expect(windows.length).toBeLessThan(60);
    expect(await seriousViolations(page)).toEqual([]);
    expect(stage.complaints).toEqual([]);
  });

  test("is projected in the page from its end alone, by any policy, at any moment", async () => {
    const { page } = stage;
    const asked: string[] = [];
    page.on("request", (request) => asked.push(request.url().replace(/.*\/api/, "")));
    await page.goto(`${stage.origin}/#/t/thread_long/what-if/${LATER}`);
    await page.getByText("projected here in").waitFor();
    const figures = page.locator(".figures").first();
    const before = await figures.textContent();
    await shoot(page, "long-what-if");
    // A larger window than what is loaded holds: more of the end is read by itself.
    await page.fill("#policy-maxInputTokens", "60000");
    await expect.poll(() => figures.textContent()).not.toBe(before);
    expect(
      Number(/([\d,.]+) messages/.exec((await figures.textContent()) ?? "")?.[1]?.replace(/\D/g, "")),
    ).toBeGreaterThan(1000);
    await page.fill("#policy-maxTurns", "2");
    await page.fill("#policy-keepLastTurns", "1");
    await expect.poll(() => figures.textContent()).toMatch(/\b5 messages/);
    const reads = asked.length;
    await page.focus("#seq");
    await page.keyboard.press("ArrowRight");
    await page
      .getByText(`#${LATER + 1}`, { exact: true })
      .first()
      .waitFor();
    await expect.poll(() => page.locator(".message").last().textContent()).toContain(`answer ${LATER + 1}`);
    expect(asked.slice(reads).filter((url) => !url.includes("/calls"))).toEqual([]);
    await page.keyboard.press("Home");
    await expect.poll(() => figures.textContent()).toMatch(/\b1 message\b/);
    expect(asked.filter((url) => url.includes("/view"))).toEqual([]);
    expect(asked.filter((url) => url.includes("/tail")).length).toBeGreaterThan(1);
    expect(await seriousViolations(page)).toEqual([]);
    expect(stage.complaints).toEqual([]);
  });

  test("shows only the wanted entries, in the searched range, and the address contains the filter", async () => {
    const { page } = stage;
    await page.goto(`${stage.origin}/#/t/thread_long/timeline`);
    await page.locator(".entry-row .text", { hasText: `answer ${LENGTH - 1}` }).waitFor();
    await page.getByRole("button", { name: "errors" }).focus();
    await page.keyboard.press("Enter");
    await page.locator(".entry-row .text", { hasText: `model_failed — at ${LENGTH - 1000}` }).waitFor();
    expect(page.url()).toContain("kinds=errors");
    await expect.poll(() => page.locator(".looked").textContent()).toMatch(/entries found/);
    await shoot(page, "filter-errors");
    expect(await seriousViolations(page)).toEqual([]);
    await page.locator(".virtual").focus();
    await page.keyboard.press("Home");
    await page.locator(".virtual-row[aria-selected=true]").waitFor();
    // Scrolling up looks further back, and what was in sight stays there.
    for (let n = 0; n < 40 && !(await page.locator(".looked").textContent())?.includes("among"); n++) {
      await page.locator(".virtual").evaluate((box) => {
        box.scrollTop = 0;
      });
      await expect.poll(() => page.locator(".looked progress").count()).toBe(0);
    }
    await expect
      .poll(() => page.locator(".looked").textContent())
      .toBe(`${LENGTH / 1000 - 1} entries found among ${LENGTH.toLocaleString("en")}`);
    await page.reload();
    await page.locator(".looked").waitFor();
    expect(await page.getByRole("button", { name: "errors" }).getAttribute("aria-pressed")).toBe("true");
    await page.fill("#jump", String(MIDDLE + 500));
    await page.press("#jump", "Enter");
    await page.locator(".entry-row .text", { hasText: `model_failed — at ${MIDDLE}` }).waitFor();
    await page.getByRole("button", { name: "summaries" }).click();
    await page.getByRole("button", { name: "errors" }).click();
    await page.locator(".entry-row .text", { hasText: "the first half" }).waitFor();
    await page.locator(".entry-row").click();
    await page.locator(".inspector", { hasText: `Entry #${MIDDLE + 1}` }).waitFor();
    expect(page.url()).toContain(`/timeline/${MIDDLE + 1}?kinds=summaries`);
    await page.setViewportSize(NARROW);
    await page.keyboard.press("Escape");
    await shoot(page, "filter-narrow");
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.getByRole("button", { name: "all", exact: true }).click();
    await page.locator(".entry-row .text", { hasText: `question ${MIDDLE + 2}` }).waitFor();
    expect(stage.complaints).toEqual([]);
  });
});

function entryAt(seq: number): EntryInput {
  if (seq > 0 && seq % 1000 === 0) return { kind: "error", payload: { code: "model_failed", message: `at ${seq}` } };
  if (seq === MIDDLE + 1) return { kind: "summary", payload: { fromSeq: 0, toSeq: MIDDLE, content: "the first half" } };
  const isAsk = seq % 2 === 0;
  const content = `${isAsk ? "question" : "answer"} ${seq}`;
  return { kind: "message", payload: { role: isAsk ? "user" : "assistant", content } };
}
