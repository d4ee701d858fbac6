import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type EntryInput, memoryStore } from "heddle";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromium, fromMenu, NARROW, Stage, seriousViolations, shoot, shortcut, talk } from "./support/stage.ts";

const HOSTILE = `<img src=x onerror="hacked=1"><script>hacked=1</script>"><svg/onload=hacked=1>[x](javascript:hacked=1)`;
/** Shown as it is, a reader sees another command than the one that runs. */
const HIDDEN = "rm -rf \u202eslmth.xedni\u202c \u2066\u200b\ufeff\u{e0041}";
const HIDDEN_ESCAPED = "rm -rf \\u202eslmth.xedni\\u202c \\u2066\\u200b\\ufeff\\udb40\\udc41";
const MARKDOWN = `# A heading

Before the list:
- one **bold**
  and its second line
- two \`code\`
  - nested

3. three
4. four

| City | °C |
|:-----|---:|
| Oslo | 9 |
| Cairo \\| Giza | 33 |

\`\`\`ts
const a = "<b>" // | not | a table
\`\`\`

> quoted

See [the docs](https://example.org/docs).`;

const user = (content: string): EntryInput => ({ kind: "message", payload: { role: "user", content } });
const assistant = (content: string): EntryInput => ({ kind: "message", payload: { role: "assistant", content } });
const called = (name: string, given: string, result: string): EntryInput[] => [
  { kind: "tool_call", payload: { id: "c1", name, arguments: { given } } },
  { kind: "tool_result", payload: { toolCallId: "c1", name, result } },
];

describe.runIf(chromium)("Texts of every kind", () => {
  let stage: Stage;
  beforeAll(async () => {
    const store = memoryStore();
    const add = (id: string, title: string, entries: readonly EntryInput[]) =>
      store.append(id, entries, { metadata: { title } });
    await add("thread_huge", "Huge", [user("long ".repeat(100_000)), ...called("dump", "all", "x1 ".repeat(349_525))]);
    await add("thread_hostile", HOSTILE, [
      user(HOSTILE),
      ...called(HOSTILE, HOSTILE, HOSTILE),
      assistant(`${HOSTILE}\n\n| ${HOSTILE} |\n|---|\n| ${HOSTILE} |`),
      { kind: "error", payload: { code: HOSTILE, message: HOSTILE } },
      { kind: HOSTILE.replaceAll(/\W/g, "_").slice(0, 40), payload: { [HOSTILE]: HOSTILE } },
    ]);
    await add("thread_hidden", "Hidden", [user("Clean up."), ...called("shell", HIDDEN, "done")]);
    await add("thread_hidden_everywhere", HIDDEN, [
      user(HIDDEN),
      ...called(HIDDEN, HIDDEN, HIDDEN),
      assistant(`${HIDDEN} \`${HIDDEN}\` **${HIDDEN}**`),
      { kind: "error", payload: { code: HIDDEN, message: HIDDEN } },
    ]);
    await add("thread_markdown", "Markdown", [user("Show me."), assistant(MARKDOWN)]);
    await add("thread_rtl", "שלום עולם 👩‍👩‍👧", [
      user("مرحبا، كم الساعة؟ 🕰️"),
      assistant("שלום! **השעה** 5. 👩‍👩‍👧‍👦"),
      user(`${"a".repeat(239)}👍 an emoji at the place where a line is cut`),
    ]);
    stage = await Stage.open({ store });
  });
  afterAll(() => stage?.close());

  const open = async (id: string, tab = ""): Promise<Page> => {
    await stage.page.goto(`${stage.origin}/#/t/${id}${tab}`);
    await stage.page.locator(".thread-head .tabs").waitFor();
    return stage.page;
  };

  test("a message of half a million letters and a result of a megabyte are drawn only as far as the user asks for", async () => {
    const page = await open("thread_huge");
    const bubble = page.locator(".bubble p");
    await bubble.waitFor();
    const size = (selector: string) => page.locator(selector).evaluate((element) => element.textContent.length);
    expect(await size("#app")).toBeLessThan(30_000);
    await shoot(page, "huge-message");
    expect(await seriousViolations(page)).toEqual([]);
    await page.getByRole("button", { name: "Show all 500,000 characters" }).click();
    await expect.poll(() => size(".bubble p")).toBe(500_000);
    await page.locator(".tool summary").click();
    await page.locator(".tool pre").nth(1).waitFor();
    expect(await size(".tool")).toBeLessThan(30_000);
    await page.getByRole("button", { name: "Show all 1,048,577 characters" }).click();
    await expect.poll(() => size(".tool")).toBeGreaterThan(1_048_575);
    await open("thread_huge", "/timeline/2");
    await page.locator(".inspector pre").waitFor();
    expect(await size(".inspector")).toBeLessThan(30_000);
    await shoot(page, "huge-result");
    expect(stage.complaints).toEqual([]);
  });

  test("hidden and reordering characters in the arguments of a call are shown escaped", async () => {
    const page = await open("thread_hidden");
    expect(await page.locator(".tool-arguments").textContent()).toContain(HIDDEN_ESCAPED);
    await page.locator(".tool summary").click();
    await page.locator(".tool pre").first().waitFor();
    expect(await page.locator(".tool pre").first().textContent()).toContain(HIDDEN_ESCAPED);
    await open("thread_hidden", "/timeline/1");
    await page.locator(".inspector pre").waitFor();
    expect(await page.locator(".inspector").textContent()).toContain(HIDDEN_ESCAPED);
    expect(stage.complaints).toEqual([]);
  });

  test("no text or label of any view has a hidden or reordering character", async () => {
    const page = await open("thread_hidden_everywhere");
    await page.locator(".turn.assistant .markdown").waitFor();
    const misleading = () =>
      page.evaluate<string[]>(`(() => {
        const found = [];
        const hidden = /(?![\\t\\n\\r\\u200d])[\\p{Cc}\\p{Cf}\\p{Cs}\\p{Zl}\\p{Zp}\\p{Default_Ignorable_Code_Point}]/u;
        const look = (text, where) => text && hidden.test(text) && found.push(where + " " + escape(text.slice(0, 60)));
        const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
        for (let node = nodes.nextNode(); node; node = nodes.nextNode()) {
          if (node.nodeType === 3 && node.parentElement.tagName !== "SCRIPT") look(node.data, node.parentElement.className);
          if (node.nodeType === 1) for (const name of ["title", "aria-label", "placeholder", "alt"]) look(node.getAttribute(name), name);
        }
        look(document.title, "document");
        return found;
      })()`);
    for (const tool of await page.locator(".tool summary").all()) await tool.click();
    expect(await misleading()).toEqual([]);
    for (const tab of ["/timeline/1", "/timeline/3", "/what-if"]) {
      await open("thread_hidden_everywhere", tab);
      await page
        .locator(tab === "/what-if" ? ".what-if .message" : ".inspector pre")
        .first()
        .waitFor();
      expect(await misleading()).toEqual([]);
    }
  });

  test("what looks like HTML or a script is text, on every view and in an exported file", async () => {
    const page = await open("thread_hostile");
    await page.locator(".turn.assistant .table").waitFor();
    await page.locator(".tool summary").click();
    await page.locator(".tool pre").nth(1).waitFor();
    await shoot(page, "hostile");
    await expectHarmless(page);
    expect(await page.locator(".bubble").textContent()).toBe(HOSTILE);
    for (const tab of ["/timeline/1", "/timeline/4", "/what-if"]) {
      await open("thread_hostile", tab);
      await page
        .locator(tab === "/what-if" ? ".what-if .message" : ".inspector pre")
        .first()
        .waitFor();
      await expectHarmless(page);
    }
    await open("thread_hostile");
    await talk(page, HOSTILE);
    await shortcut(page, "3");
    await page.locator(".badge.proven").waitFor();
    await expectHarmless(page);
    const folder = mkdtempSync(join(tmpdir(), "heddle-texts-"));
    try {
      const download = page.waitForEvent("download");
      await fromMenu(page, "Export as one page (HTML)");
      await (await download).saveAs(join(folder, "hostile.html"));
      const file = await stage.window();
      await file.goto(pathToFileURL(join(folder, "hostile.html")).href);
      await file.locator(".turn.assistant .table").waitFor();
      await expectHarmless(file);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
    expect(stage.complaints).toEqual([]);
  });

  test("Markdown has headings, lists, tables, code and quotes", async () => {
    const page = await open("thread_markdown");
    const text = page.locator(".turn.assistant .markdown");
    await text.waitFor();
    expect(await text.locator("ul > li").allTextContents()).toEqual([
      "one bold\nand its second line",
      "two code",
      "nested",
    ]);
    expect(await text.locator("ol").getAttribute("start")).toBe("3");
    expect(await text.locator("th").allTextContents()).toEqual(["City", "°C"]);
    expect(await text.locator("td").allTextContents()).toEqual(["Oslo", "9", "Cairo | Giza", "33"]);
    expect(await text.locator("pre.code").textContent()).toBe('const a = "<b>" // | not | a table');
    expect(await text.locator("blockquote").textContent()).toBe("quoted");
    expect(await text.locator("a").getAttribute("href")).toBe("https://example.org/docs");
    await shoot(page, "markdown");
    expect(await seriousViolations(page)).toEqual([]);
    await page.setViewportSize(NARROW);
    await shoot(page, "markdown-narrow");
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test("text that goes from right to left does, and an emoji is never cut in half", async () => {
    const page = await open("thread_rtl");
    await page.locator(".turn.assistant .markdown").waitFor();
    const direction = (selector: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector(${JSON.stringify(selector)})).direction`);
    expect(await direction(".bubble p")).toBe("rtl");
    expect(await direction(".turn.assistant .markdown")).toBe("rtl");
    await shoot(page, "right-to-left");
    await shortcut(page, "2");
    await page.locator(".entry-row .text", { hasText: "aaa" }).waitFor();
    const shown = await page.locator("#app").evaluate((element) => element.textContent);
    expect(shown.isWellFormed()).toBe(true);
    expect(stage.complaints).toEqual([]);
  });
});

const MADE = "#app :is(img, script, iframe), #app svg[onload], #app a[href^='javascript']";

async function expectHarmless(page: Page): Promise<void> {
  expect(await page.evaluate("'hacked' in globalThis")).toBe(false);
  expect(await page.locator(MADE).count()).toBe(0);
}
