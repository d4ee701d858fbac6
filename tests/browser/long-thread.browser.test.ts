import { type EntryInput, memoryStore } from "heddle";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromium, Stage, seriousViolations, shoot } from "./support/stage.ts";

const LENGTH = 200_000;

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

  test("of 200,000 entries scrolls, jumps, and reads no more than is in sight", async () => {
    const { page } = stage;
    const windows: string[] = [];
    page.on("request", (request) => {
      if (request.url().includes("/entries")) windows.push(request.url());
    });
    await page.goto(`${stage.studio.url}#/t/thread_long/timeline`);
    await page.locator(".entry-row .text", { hasText: "answer 199999" }).waitFor();
    await shoot(page, "long-end");
    await page.fill("#jump", "123456");
    await page.press("#jump", "Enter");
    await page.locator(".entry-row .text", { hasText: "question 123456" }).waitFor();
    expect(page.url()).toContain("/timeline/123456");
    await page.locator(".inspector", { hasText: "Entry #123456" }).waitFor();
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
    await page.locator(".entry-row .text", { hasText: "answer 199999" }).waitFor();
    expect(await page.locator(".entry-row").count()).toBeLessThan(100);
    expect(windows.length).toBeLessThan(60);
    expect(await seriousViolations(page)).toEqual([]);
    expect(stage.complaints).toEqual([]);
  });

  test("is projected by the server where the page would have to read it all", async () => {
    const { page } = stage;
    await page.goto(`${stage.studio.url}#/t/thread_long/what-if/150000`);
    await page.getByText("projected by the server").waitFor();
    expect(await page.locator(".figures").first().textContent()).toContain("messages");
    await shoot(page, "long-what-if");
    expect(stage.complaints).toEqual([]);
  });
});

function entryAt(seq: number): EntryInput {
  const isAsk = seq % 2 === 0;
  const content = `${isAsk ? "question" : "answer"} ${seq}`;
  return { kind: "message", payload: { role: isAsk ? "user" : "assistant", content } };
}
