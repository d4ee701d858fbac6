import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  ask,
  atRest,
  chromium,
  launchBrowser,
  newPage,
  Stage,
  seriousViolations,
  shoot,
  shortcut,
  talk,
} from "./support/stage.ts";

const TOKEN = "a-token-of-the-tests";

describe.runIf(chromium)("Windows", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "heddle-windows-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("two of them stay in step, word by word", async () => {
    const stage = await Stage.open({ wordMs: 20 });
    try {
      const { page } = stage;
      await page.locator(".prompt").first().click();
      await atRest(page);
      const other = await stage.window();
      await other.goto(page.url());
      await other.locator(".turn.assistant").first().waitFor();
      await ask(page, "Who are you?");
      await other.locator(".turn.live .markdown").waitFor();
      await shoot(other, "two-windows-streaming");
      await talkOver(other);
      await atRest(page);
      expect(await other.locator(".chat-column").textContent()).toBe(await page.locator(".chat-column").textContent());
      await page.keyboard.press("Escape");
      await page.locator(".logo").click();
      await shortcut(page, "n");
      await other.locator(".thread-row", { hasText: "Untitled" }).waitFor();
      expect(stage.complaints).toEqual([]);
    } finally {
      await stage.close();
    }
  });

  test("a request continues when its server is killed while streaming and comes back", async () => {
    const port = await freePort();
    const server = new Server(join(folder, "killed.db"), port);
    await server.start();
    const browser: Browser = await launchBrowser();
    try {
      const page = await newPage(browser, []);
      await page.addInitScript((token) => localStorage.setItem("heddle.token", token), TOKEN);
      await page.goto(`http://127.0.0.1:${port}/`);
      await page.locator(".prompt", { hasText: "one call at a time" }).click();
      await page.locator(".tool-state.done").nth(3).waitFor();
      await server.kill();
      await page.locator(".pill", { hasText: "connection lost" }).first().waitFor();
      await shoot(page, "connection-lost");
      await server.start();
      await page.locator(".pill", { hasText: "connection lost" }).first().waitFor({ state: "detached" });
      await atRest(page);
      expect(await page.locator(".turn.assistant .markdown").last().textContent()).toContain("465");
      await shoot(page, "after-restart");
    } finally {
      await browser.close();
      await server.kill();
    }
  });

  test("an export opens from disk, without any network, and proves its calls itself", async () => {
    const stage = await Stage.open();
    const file = join(folder, "thread.html");
    try {
      const { page } = stage;
      await page.locator(".prompt", { hasText: "Oslo and Cairo" }).click();
      await atRest(page);
      await talk(page, "What is 5 * 5? </script><b>bold</b>");
      await page.locator(".menu summary").click();
      await shoot(page, "menu");
      const download = page.waitForEvent("download");
      await page.getByText("Export as one page (HTML)").click();
      await (await download).saveAs(file);
    } finally {
      await stage.close();
    }
    const browser = await launchBrowser();
    try {
      const complaints: string[] = [];
      const page = await newPage(browser, complaints);
      const requests: string[] = [];
      page.on("request", (request) => requests.push(request.url()));
      await page.goto(pathToFileURL(file).href);
      await page.locator(".turn.assistant").nth(1).waitFor();
      await page.locator(".turn.user", { hasText: "</script>" }).waitFor();
      await shoot(page, "export");
      expect(await seriousViolations(page)).toEqual([]);
      await shortcut(page, "3");
      await page.locator(".badge.proven").waitFor();
      await shoot(page, "export-model-saw");
      await shortcut(page, "2");
      await page.locator(".entry-row .text").first().waitFor();
      await shortcut(page, "4");
      await page.getByText("Exactly what was sent").waitFor();
      expect(requests.filter((url) => !url.startsWith("file:") && !url.startsWith("data:"))).toEqual([]);
      expect(complaints).toEqual([]);
    } finally {
      await browser.close();
    }
  });
});

async function talkOver(page: Parameters<typeof atRest>[0]): Promise<void> {
  await page.locator(".turn.live").waitFor({ state: "detached" });
  await page.locator(".turn.user").nth(1).waitFor();
  await atRest(page);
}

/** A Studio as a process of its own, so that it can be killed. */
class Server {
  readonly #file: string;
  readonly #port: number;
  #child: ChildProcess | undefined;

  constructor(file: string, port: number) {
    this.#file = file;
    this.#port = port;
  }

  async start(): Promise<void> {
    const script = fileURLToPath(new URL("./support/serve.ts", import.meta.url));
    const child = spawn(process.execPath, [script, this.#file, String(this.#port), TOKEN], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    this.#child = child;
    const [said] = (await once(child.stdout as NonNullable<typeof child.stdout>, "data")) as [Buffer];
    if (!said.toString().startsWith("http")) throw new Error(said.toString());
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, "close");
  return port;
}
