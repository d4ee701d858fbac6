import { memoryStore } from "heddle";
import { expect, test } from "vitest";
import { HandClock } from "./support/hand-clock.ts";
import { ask, atRest, chromium, Stage, seriousViolations, shoot } from "./support/stage.ts";

const DAY = 86_400_000;

test.runIf(chromium)("the list is narrowed by status, agent and time, and by several of them at once", async () => {
  let now = Date.now() - 20 * DAY;
  const store = memoryStore({ clock: () => now });
  const add = (title: string, metadata: { readonly status: string; readonly agent: string }) =>
    store.append(`thread_${title}`, { kind: "note", payload: { text: title } }, { metadata: { title, ...metadata } });
  await add("old-failed", { status: "failed", agent: "clerk" });
  now = Date.now() - 3 * DAY;
  await add("week-done", { status: "completed", agent: "clerk" });
  now = Date.now();
  await add("new-done", { status: "completed", agent: "heddle-demo" });
  await add("new-failed", { status: "failed", agent: "heddle-demo" });
  const stage = await Stage.open({ store });
  try {
    const { page } = stage;
    const shows = (...titles: string[]) =>
      expect
        .poll(async () => (await page.locator(".thread-row .title").allTextContents()).sort())
        .toEqual(titles.sort());
    const choose = (filter: string, option: string) => page.getByLabel(filter, { exact: true }).selectOption(option);
    await shows("old-failed", "week-done", "new-done", "new-failed");
    await choose("Status", "failed");
    await shows("old-failed", "new-failed");
    await choose("Agent", "clerk");
    await shows("old-failed");
    await choose("Status", "");
    await shows("old-failed", "week-done");
    await choose("Changed", "Last week");
    await shows("week-done");
    await shoot(page, "filtered");
    const { x, width } = (await page.getByLabel("Agent", { exact: true }).boundingBox()) ?? { x: 0, width: 0 };
    expect(x + width).toBeLessThan((await page.locator(".sidebar").boundingBox())?.width ?? 0);
    await choose("Changed", "Last day");
    await page.getByText("No thread matches.").waitFor();
    await choose("Agent", "");
    await shows("new-done", "new-failed");
    await choose("Changed", "Last month");
    await shows("old-failed", "week-done", "new-done", "new-failed");
    expect(stage.complaints).toEqual([]);
  } finally {
    await stage.close();
  }
});

test.runIf(chromium)(
  "two threads that run at once stay separate, and after a reload the streaming answer is still shown",
  async () => {
    const clock = new HandClock();
    const stage = await Stage.open({ wordMs: 1, after: clock.after });
    try {
      const { page } = stage;
      await page.locator(".prompt", { hasText: "Think step by step" }).click();
      clock.pass(6);
      const live = page.locator(".turn.live");
      await live.filter({ hasText: "I am asked: “Think step" }).waitFor();
      const first = page.url();
      await stage.toStart();
      await page.locator("#first-ask").fill("Tell me a story.");
      await page.keyboard.press("Enter");
      await page.locator(".bubble", { hasText: "Tell me a story." }).waitFor();
      clock.pass(12);
      await live.filter({ hasText: "Chapter 1" }).waitFor();
      expect(await page.locator(".chat-column").textContent()).not.toContain("step by step");
      await expect.poll(() => page.locator(".thread-row .dot.running").count()).toBe(2);
      await shoot(page, "two-threads");
      const second = page.url();
      const before = (await live.textContent()) ?? "";
      await page.reload();
      await live.filter({ hasText: "Chapter 1" }).waitFor();
      await expect.poll(() => live.textContent()).toContain(before.trim());
      clock.pass(8);
      await expect.poll(async () => ((await live.textContent()) ?? "").length).toBeGreaterThan(before.length);
      expect(await seriousViolations(page)).toEqual([]);
      clock.pass(Number.POSITIVE_INFINITY);
      await atRest(page);
      expect(page.url()).toBe(second);
      expect(await page.locator(".turn.assistant").count()).toBe(1);
      await page.goto(first);
      await page.locator(".turn.assistant", { hasText: "So the books cost more." }).waitFor();
      expect(await page.locator(".chat-column").textContent()).not.toContain("Chapter");
      await ask(page, "Who are you?");
      await atRest(page);
      expect(stage.complaints).toEqual([]);
    } finally {
      clock.pass(Number.POSITIVE_INFINITY);
      await stage.close();
    }
  },
);

test.runIf(chromium)("a request that begins while the page is being loaded is shown", async () => {
  const clock = new HandClock();
  const stage = await Stage.open({ wordMs: 1, after: clock.after });
  try {
    const { page } = stage;
    const post = (path: string, body: object) => stage.fetch(path, { method: "POST", body: JSON.stringify(body) });
    const { id } = (await (await post("/api/threads", {})).json()) as { id: string };
    const held = Promise.withResolvers<void>();
    await page.route(
      `**/api/threads/${id}`,
      async (route) => {
        const answer = await route.fetch(); // names no request yet
        await post(`/api/threads/${id}/ask`, { content: "Who are you?" });
        await held.promise;
        await route.fulfill({ response: answer });
      },
      { times: 1 },
    );
    await page.goto(`${stage.origin}/#/t/${id}`);
    await page.locator(".thread-head .pill.state-running").waitFor();
    held.resolve();
    await page.locator(".turn.live", { hasText: "Waiting for the model" }).waitFor();
    clock.pass(Number.POSITIVE_INFINITY);
    await atRest(page);
    expect(stage.complaints).toEqual([]);
  } finally {
    clock.pass(Number.POSITIVE_INFINITY);
    await stage.close();
  }
});
