import { expect, test } from "vitest";
import { atRest, chromium, fromMenu, Stage, seriousViolations, shoot, shortcut, talk, told } from "./support/stage.ts";

test.runIf(chromium)("lanes are branched, switched and begun, and each remembers its own", async () => {
  const stage = await Stage.open();
  try {
    const { page } = stage;
    const lane = async (way: string, label: string, name: string) => {
      await fromMenu(page, "Replace or switch context");
      await page.locator(".context-dialog .chip", { hasText: way }).click();
      await page.getByLabel(label).fill(name);
      await page.locator(".context-dialog button[type=submit]").click();
      await told(page, "The context was changed.");
    };
    const answer = () => page.locator(".turn.assistant .markdown").last().textContent();
    await page.locator(".prompt", { hasText: "(17 + 25) * 3" }).click();
    await atRest(page);
    await lane("Branch", "Name of the new lane", "second");
    await talk(page, "And times 3?");
    expect(await answer()).toBe("That makes 378.");
    await lane("Switch", "Lane to activate", "default");
    await talk(page, "And times 2?");
    expect(await answer()).toBe("That makes 252."); // of 126: what was said on the second lane is not known here
    await lane("Switch", "Lane to activate", "fresh");
    await talk(page, "And times 2?");
    expect(await answer()).toBe("Of what? Give me a sum first.");
    await shoot(page, "lanes-chat");
    await shortcut(page, "2");
    await page.locator(".timeline-bar", { hasText: "3 lanes, active: fresh" }).waitFor();
    const drawn = await page.locator(".entry-row .pill.lane").allTextContents();
    expect([...new Set(drawn)].sort()).toEqual(["fresh", "second"]);
    await shoot(page, "lanes-timeline");
    expect(await seriousViolations(page)).toEqual([]);
    await shortcut(page, "3");
    await page.locator(".badge.proven").waitFor();
    await page.locator(".why .reason", { hasText: "on another lane" }).first().waitFor();
    await shoot(page, "lanes-model-saw");
    expect(stage.complaints).toEqual([]);
  } finally {
    await stage.close();
  }
});
