import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HandClock } from "./support/hand-clock.ts";
import {
  ask,
  atRest,
  chromium,
  fromMenu,
  Stage,
  seriousViolations,
  shoot,
  shortcut,
  talk,
  told,
} from "./support/stage.ts";

describe.runIf(chromium)("Acts on a thread", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await Stage.open();
  });
  afterAll(() => stage?.close());

  test("entries older than a given one are summarized, and the next call is shown the summary instead", async () => {
    const page = await stage.toStart();
    await page.locator(".prompt", { hasText: "(17 + 25) * 3" }).click();
    await atRest(page);
    await talk(page, "What is 5 * 5?");
    await page.locator(".turn.assistant", { hasText: "126" }).last().locator("button.seq").click();
    await page.locator(".inspector", { hasText: "Entry #3" }).waitFor();
    await shoot(page, "inspector");
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "summarize up to here" }).click();
    await told(page, "Summarized in entry #8.");
    await page.locator(".chat-line", { hasText: "#0–#3" }).waitFor();
    await talk(page, "What is 6 * 6?");
    await shortcut(page, "3");
    await page.locator(".badge.proven").waitFor();
    await page.locator(".message", { hasText: "The conversation so far" }).waitFor();
    const covered = page.locator(".why", { hasText: "covered by the summary" });
    await covered.first().waitFor();
    expect(await covered.locator(".seq").allTextContents()).toEqual(["0", "1", "2", "3"]);
    expect(stage.complaints).toEqual([]);
  });

  test("after a reset the model has forgotten and the thread has not", async () => {
    const page = await stage.toStart();
    await page.locator(".prompt", { hasText: "(17 + 25) * 3" }).click();
    await atRest(page);
    await fromMenu(page, "Reset the context");
    await told(page, "The context was reset");
    await talk(page, "And times 3?");
    expect(await page.locator(".turn.assistant .markdown").last().textContent()).toBe("Of what? Give me a sum first.");
    expect(await page.locator(".turn", { hasText: "126" }).count()).toBeGreaterThan(0);
    await shoot(page, "reset");
    expect(stage.complaints).toEqual([]);
  });

  test("a thread is deleted only when that is confirmed, and cannot be restored", async () => {
    const page = await stage.toStart();
    await page.locator("#first-ask").fill("What is 9 * 9?");
    await page.keyboard.press("Enter");
    await atRest(page);
    const address = page.url();
    const row = page.locator(".thread-row", { hasText: "9 * 9" });
    const asked: string[] = [];
    page.once("dialog", (dialog) => {
      asked.push(dialog.message());
      void dialog.dismiss();
    });
    await fromMenu(page, "Delete the thread");
    await expect.poll(() => asked).toEqual([expect.stringContaining("cannot be undone")]);
    expect(page.url()).toBe(address);
    expect(await row.count()).toBe(1);
    page.once("dialog", (dialog) => void dialog.accept());
    await fromMenu(page, "Delete the thread");
    await page.locator(".start .prompt").first().waitFor();
    await row.waitFor({ state: "detached" });
    await page.goto(address);
    await page.locator(".problem", { hasText: "thread_not_found" }).waitFor();
    expect(await page.locator(".menu").count()).toBe(0);
    await page.getByRole("link", { name: "All threads" }).click();
    await page.locator(".start .prompt").first().waitFor();
    stage.complaints.splice(0); // the browser tells of the 404 in its console
  });

  test("a call that is denied does not run, and the model continues without it", async () => {
    const page = await stage.toStart();
    await page.locator(".prompt", { hasText: "Send 20 euros" }).click();
    await page.getByRole("button", { name: "Deny" }).click();
    await page.locator(".tool-state.denied").waitFor();
    await atRest(page);
    expect(await page.locator(".turn.assistant .markdown").last().textContent()).toContain("Nothing was sent to Ada");
    await shoot(page, "denied");
    expect(stage.complaints).toEqual([]);
  });

  test("an entry is forked from the inspector, and copied from it", async () => {
    const page = await stage.toStart();
    await page.locator(".prompt", { hasText: "12 * 12" }).click();
    await page.locator(".turn.user").nth(1).waitFor();
    await atRest(page);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.locator(".turn.assistant", { hasText: "is 144" }).last().locator("button.seq").click();
    const seq = Number((await page.locator(".inspector h2", { hasText: "#" }).textContent())?.replace(/\D/g, ""));
    await page.getByRole("button", { name: `Copy Payload of entry ${seq}` }).click();
    await told(page, "Copied.");
    const copied = await page.evaluate<string>("navigator.clipboard.readText()");
    expect(JSON.parse(copied)).toMatchObject({ role: "assistant" });
    const parent = page.url();
    await page.locator(".inspector").getByRole("button", { name: "fork from here" }).click();
    await page.waitForURL((url) => url.href !== parent && url.hash.startsWith("#/t/"));
    await page.locator(".thread-row[aria-current]", { hasText: `at #${seq}` }).waitFor();
    await shortcut(page, "2");
    await page.locator(".timeline-bar", { hasText: `${seq + 1} entries` }).waitFor();
    expect(stage.complaints).toEqual([]);
  });
});

describe.runIf(chromium)("Words while it runs", () => {
  test("those for now come before the next call, those for later after the answer", async () => {
    const clock = new HandClock();
    const stage = await Stage.open({ wordMs: 1, after: clock.after });
    try {
      const { page } = stage;
      await page.locator(".prompt", { hasText: "one call at a time" }).click();
      clock.pass(2);
      await page.locator(".tool").first().waitFor();
      await page.locator(".composer-foot select").selectOption("follow_up");
      await ask(page, "What is 5 * 5?");
      await page.locator(".queued", { hasText: "for the end of the request" }).waitFor();
      await page.locator(".composer-foot select").selectOption("steer");
      await ask(page, "What is 6 * 6?");
      await page.locator(".queued", { hasText: "for the next step" }).waitFor();
      await shoot(page, "queued");
      expect(await seriousViolations(page)).toEqual([]);
      clock.pass(Number.POSITIVE_INFINITY);
      const texts = () => page.locator(".turn.user .bubble").allTextContents();
      await expect
        .poll(texts)
        .toEqual(["Add up the numbers from 1 to 30, one call at a time.", "What is 6 * 6?", "What is 5 * 5?"]);
      await atRest(page);
      expect(await texts()).toHaveLength(3);
      expect(await page.locator(".turn-kind").allTextContents()).toEqual(["steer", "follow up"]);
      const said = (await page.locator(".turn.assistant .markdown").allTextContents()).join(" ");
      expect(said).toMatch(/6 \* 6 is 36.*5 \* 5 is 25/);
      expect(await page.locator(".queued").count()).toBe(0);
      expect(stage.complaints).toEqual([]);
    } finally {
      clock.pass(Number.POSITIVE_INFINITY);
      await stage.close();
    }
  });
});
