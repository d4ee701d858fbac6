import { defineAgent, defineTool, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { ask, atRest, chromium, Stage, seriousViolations, shoot, shortcut } from "./support/stage.ts";

describe.runIf(chromium)("Access", () => {
  test("a read-only Studio shows everything and offers no action", async () => {
    const store = memoryStore();
    await store.append("thread_1", { kind: "message", payload: { role: "user", content: "Only to be read" } });
    const stage = await Stage.open({ store, readOnly: true });
    try {
      const { page } = stage;
      await page.locator(".thread-row", { hasText: "Only to be read" }).click();
      await page.getByText("Read-only: this Studio changes nothing.").waitFor();
      await page.locator("button.seq").first().click();
      await page.locator(".inspector", { hasText: "Entry #0" }).waitFor();
      await page.locator(".menu summary").click();
      await page.getByText("Export as JSON", { exact: true }).waitFor();
      const act = /fork|new thread|send|summari[sz]e|reset|replace|delete|approve|steer|cancel/i;
      expect(await page.getByRole("button", { name: act }).count()).toBe(0);
      expect(await page.locator("textarea, #first-ask").count()).toBe(0);
      await shoot(page, "read-only");
      await shortcut(page, "n");
      await shortcut(page, "c");
      await page.locator(".logo").click();
      await page.getByText("Read-only: this Studio shows threads").waitFor();
      expect(await page.locator(".prompt, #first-ask").count()).toBe(0);
      expect(await page.locator(".thread-row").count()).toBe(1);
      expect(await seriousViolations(page)).toEqual([]);
      expect(stage.complaints).toEqual([]);
    } finally {
      await stage.close();
    }
  });

  test("who has no token is asked for it, and who gives it is in", async () => {
    const stage = await Stage.open({ token: "a-token-of-the-tests" });
    try {
      const page = await stage.window({ hasToken: false });
      await page.goto(stage.origin);
      await page.getByText("This Studio asks for its token").waitFor();
      await shoot(page, "token");
      expect(await seriousViolations(page)).toEqual([]);
      await page.fill("#token", "a-token-of-the-tests");
      await page.keyboard.press("Enter");
      await page.locator(".prompt").first().waitFor();
      expect(page.url()).not.toContain("token");
    } finally {
      await stage.close();
    }
  });

  test("a tool that runs outside is answered by hand", async () => {
    const pick = defineTool({ description: "Asks a person", inputSchema: { type: "object" } as const });
    const model = scriptedModel([
      { calls: [{ name: "pick", arguments: { of: ["red", "blue"] } }] },
      "You picked blue.",
    ]);
    const stage = await Stage.open({ agent: defineAgent({ model, tools: { pick } }) });
    try {
      const { page } = stage;
      await page.getByRole("main").getByRole("button", { name: "New thread" }).click();
      await ask(page, "Which color?");
      await page.getByLabel("Your answer for pick").fill("blue");
      await shoot(page, "answer-by-hand");
      expect(await seriousViolations(page)).toEqual([]);
      await page.getByRole("button", { name: "Answer" }).click();
      await page.locator(".turn.assistant", { hasText: "You picked blue." }).waitFor();
      await atRest(page);
      expect(stage.complaints).toEqual([]);
    } finally {
      await stage.close();
    }
  });
});
