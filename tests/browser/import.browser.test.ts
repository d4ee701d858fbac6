import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ask, atRest, chromium, NARROW, Stage, seriousViolations, shoot } from "./support/stage.ts";

/** Of the page, where the function runs that names it. */
declare const DataTransfer: new () => { readonly items: { add(file: File): void } };

const file = (name: string, content: unknown) => ({
  name,
  mimeType: "application/json",
  buffer: Buffer.from(typeof content === "string" ? content : JSON.stringify(content)),
});

/** The machine may be busy. */

describe.runIf(chromium)("Import", () => {
  let stage: Stage;
  beforeEach(async () => {
    stage = await Stage.open();
  });
  afterEach(() => stage.close());

  test("what was exported comes back, by button, and its calls are still proven", async () => {
    const { page } = stage;
    await page.getByRole("button", { name: "New thread" }).first().click();
    await ask(page, "What is 6 * 7?");
    await atRest(page);
    const id = /t\/([^/]+)/.exec(page.url())?.[1] ?? "";
    for (const format of ["json", "jsonl"]) {
      const text = await (await stage.fetch(`/api/threads/${id}/export?format=${format}`)).text();
      await page.goto(`${stage.origin}/#/`);
      await page.setInputFiles("input[type=file]", file(`thread.${format}`, text));
      await page.locator(".turn.user", { hasText: "6 * 7" }).waitFor();
      expect(page.url()).not.toContain(id);
      await page.goto(`${page.url()}/saw`);
      await page.locator(".badge.proven").waitFor();
    }
    expect(await page.locator(".thread-row").count()).toBe(3);
    expect(stage.complaints).toEqual([]);
  });

  test("files are dropped on the list, lists of messages of any format too, and problems of a file are shown", async () => {
    const { page } = stage;
    await page.locator(".sidebar").waitFor();
    const files = [
      [
        "chat.json",
        [
          { role: "user", content: "Hello from a list" },
          { role: "assistant", content: "Hi" },
        ],
      ],
      ["ui.json", [{ id: "m1", role: "user", parts: [{ type: "text", text: "Hello from a page" }] }]],
      ["broken.json", "{ nothing"],
      ["other.json", { format: "of somebody else" }],
    ] as const;
    const drop = await page.evaluateHandle((given) => {
      const transfer = new DataTransfer();
      for (const [name, content] of given) {
        transfer.items.add(new File([typeof content === "string" ? content : JSON.stringify(content)], name));
      }
      return transfer;
    }, files);
    await page.dispatchEvent(".sidebar", "dragenter", { dataTransfer: drop });
    await page.locator(".drop-here").waitFor();
    await shoot(page, "import-drop");
    await page.dispatchEvent(".sidebar", "dragover", { dataTransfer: drop });
    await page.dispatchEvent(".sidebar", "drop", { dataTransfer: drop });
    await page.locator(".thread-head", { hasText: "Hello from a page" }).waitFor();
    expect(await page.locator(".drop-here").count()).toBe(0);
    const problems = page.locator(".import-problem");
    await expect
      .poll(() => problems.allTextContents())
      .toEqual([
        expect.stringMatching(/chat\.json.*Which format/),
        expect.stringMatching(/broken\.json.*JSON.*invalid_request/),
        expect.stringMatching(/other\.json.*thread_corrupt/),
      ]);
    await shoot(page, "import-problems");
    expect(await seriousViolations(page)).toEqual([]);
    await page.setViewportSize(NARROW);
    await page
      .getByRole("button", { name: /threads/i })
      .first()
      .click();
    await shoot(page, "import-problems-narrow");
    await page.getByRole("button", { name: /Dismiss the message about broken/ }).click();
    await page.getByRole("group", { name: "Import chat.json as" }).getByRole("button", { name: "openai-chat" }).click();
    await page.locator(".thread-row", { hasText: "Hello from a list" }).waitFor({ state: "attached" });
    await expect.poll(() => problems.count()).toBe(1);
    const logged = stage.complaints.filter((line) => !line.includes("400"));
    expect(logged).toEqual([]);
  });

  test("a file that the server would refuse for its size is not even sent", async () => {
    const { page } = stage;
    await page.route("**/api/info", async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ json: { ...((await answer.json()) as object), importLimit: 2 * 1024 * 1024 } });
    });
    await page.reload();
    let sent = 0;
    page.on("request", (request) => {
      if (request.url().endsWith("/api/import")) sent += 1;
    });
    await page.setInputFiles("input[type=file]", file("large.json", "x".repeat(3 * 1024 * 1024)));
    await page.locator(".import-problem", { hasText: "2 MiB at most" }).waitFor();
    expect(sent).toBe(0);
    expect(stage.complaints).toEqual([]);
  });
});
