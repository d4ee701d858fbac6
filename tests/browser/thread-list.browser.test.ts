import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { EntryInput, ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isSoak } from "../support/case-budget.ts";
import { chromium, NARROW, Stage, seriousViolations, shoot, shortcut } from "./support/stage.ts";

const MANY = isSoak ? 10_000 : 4_000;
const STATUSES = ["completed", "failed", "cancelled", "completed"] as const;
const MINUTE = 60_000;

describe.runIf(chromium)("Thousands of threads", () => {
  let stage: Stage;
  const folder = mkdtempSync(join(existsSync("/dev/shm") ? "/dev/shm" : tmpdir(), "heddle-many-"));
  beforeAll(async () => {
    const clock = { at: 0 };
    const store = sqliteStore(join(folder, "threads.db"), { clock: () => clock.at });
    await fill(store, clock);
    stage = await Stage.open({ store });
  });
  afterAll(async () => {
    await stage?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("are listed as far as the user scrolls, and only visible ones are drawn", async () => {
    const { page } = stage;
    await page.locator(".thread-row", { hasText: talk(1) }).waitFor();
    const box = page.locator(".threads");
    for (let height = 0, pages = 0; pages < 12; pages++) {
      // The list may be loaded again while the page connects, so each look scrolls again.
      const scrolled = () =>
        box.evaluate((list) => {
          list.scrollTop = list.scrollHeight;
          return list.scrollHeight;
        });
      await expect.poll(scrolled).toBeGreaterThan(height);
      height = await box.evaluate((list) => list.scrollHeight);
    }
    const wanted = page.locator(".thread-row", { hasText: talk(1001) });
    const scrolledBack = async () => {
      await box.evaluate((list) => {
        list.scrollTop = 50 * 1000;
      });
      return wanted.count();
    };
    await expect.poll(scrolledBack).toBe(1);
    expect(await page.locator(".thread-row").count()).toBeLessThan(60);
    await page.locator(".thread-row", { hasText: talk(1005) }).click();
    await page.locator(".thread-head", { hasText: talk(1005) }).waitFor();
    for (let step = 0; step < 30; step++) await shortcut(page, "J");
    await page.locator('.thread-row[aria-current="page"]', { hasText: talk(1035) }).waitFor();
    await page.evaluate(
      `for (let times = 0; times < 5; times++) dispatchEvent(new KeyboardEvent("keydown", { key: "J" }))`,
    );
    await page.locator('.thread-row[aria-current="page"]', { hasText: talk(1040) }).waitFor();
    await shoot(page, "many-threads");
    expect(await seriousViolations(page)).toEqual([]);
    expect(stage.complaints).toEqual([]);
  });

  test("are listed without a scroll as far as a tall window shows", async () => {
    const { page } = stage;
    const size = page.viewportSize() ?? expect.fail("the page has a size");
    await page.reload();
    await page.setViewportSize({ ...size, height: 9000 });
    await page.locator(".thread-row", { hasText: talk(150) }).waitFor();
    await page.setViewportSize(size);
    await page.locator(".thread-row", { hasText: talk(1) }).waitFor();
  });

  test("are filtered by status, agent and time, and each filter holds for what is scrolled to", async () => {
    const { page } = stage;
    const first = page.locator(".thread-row .title").first();
    await page.locator(".threads").evaluate((list) => {
      list.scrollTop = 0;
    });
    await page.getByLabel("Status").selectOption("failed");
    await expect.poll(() => first.textContent()).toBe(talk(3));
    await page.getByLabel("Agent").selectOption("spinner");
    await expect.poll(() => first.textContent()).toBe(talk(7));
    await page.getByLabel("Changed").selectOption("1");
    await expect.poll(() => first.textContent()).toBe(talk(7));
    await shoot(page, "many-filtered");
    await page.getByLabel("Status").selectOption("");
    await page.getByLabel("Agent").selectOption("");
    await expect.poll(() => first.textContent()).toBe(talk(1));
    const box = page.locator(".threads");
    // A day has 1440 minutes, and each thread is a minute older than the next.
    await expect
      .poll(async () => {
        await box.evaluate((list) => {
          list.scrollTop = list.scrollHeight;
        });
        return Number((await page.locator(".thread-row .title").last().textContent())?.slice(5));
      })
      .toBeLessThan(MANY - 1400);
    await page.getByLabel("Changed").selectOption("0");
    await expect.poll(() => first.textContent()).toBe(talk(1));
    expect(stage.complaints).toEqual([]);
  });

  test("are searched, newest first: what is found is shown at once, and the rest is a click away", async () => {
    const { page } = stage;
    await page.goto("about:blank");
    await page.goto(stage.origin);
    await page.fill("#search", "the secret of talk 123");
    // Talks 123 and 1230 to 1239.
    const further = page.getByRole("button", { name: "Search further" });
    await expect
      .poll(async () => {
        if ((await further.count()) > 0) await further.click(); // where the machine is busy
        return page.locator(".thread-row").count();
      })
      .toBe(11);
    await page.fill("#search", "nowhere to be found");
    await expect
      .poll(async () => {
        if ((await further.count()) > 0) await further.click();
        return page.locator(".no-threads").count();
      })
      .toBe(1);
    expect(await seriousViolations(page)).toEqual([]);
    const slow = await stage.window();
    await slow.route("**/api/threads?*search=*", async (route) => {
      const url = new URL(route.request().url());
      const steps = Number(url.searchParams.get("cursor") ?? 0);
      const body = { threads: [], cursor: String(steps + 1), searchedTo: 1_700_000_000_000 - steps * 86_400_000 };
      await route.fulfill({ json: body });
    });
    await slow.goto(stage.origin);
    await slow.fill("#search", "far back");
    await slow.getByText("Nothing found so far.").waitFor();
    const button = slow.getByRole("button", { name: "Search further" });
    await button.waitFor();
    await shoot(slow, "search-further");
    const before = await slow.locator(".search-further").textContent();
    await button.click();
    await expect.poll(() => slow.locator(".search-further").textContent()).not.toBe(before);
    await button.waitFor();
    expect(await seriousViolations(slow)).toEqual([]);
    await slow.setViewportSize(NARROW);
    await slow.getByRole("button", { name: "Threads" }).click();
    await shoot(slow, "search-further-narrow");
    await slow.close();
    expect(stage.complaints).toEqual([]);
  });
});

/** The title of the newest thread but so many, from 1. */
function talk(back: number): string {
  return `Talk ${MANY - back}`;
}

/** One thread in each minute. */
async function fill(store: ThreadStore, clock: { at: number }): Promise<void> {
  const now = Date.now();
  for (let n = 0; n < MANY; n++) {
    clock.at = now - (MANY - n) * MINUTE;
    const metadata = {
      title: `Talk ${n}`,
      status: STATUSES[n % 4] ?? "",
      agent: n % 3 === 0 ? "spinner" : "weaver",
    };
    const entries = [said("user", `What is the secret of talk ${n}?`, clock.at), said("assistant", "42", clock.at)];
    await store.append(`thread_${n}`, entries, { metadata });
  }
  clock.at = now;
}

function said(role: string, content: string, at: number): EntryInput {
  return { kind: "ai_message", at, payload: { contextRef: "default", role, content } };
}
