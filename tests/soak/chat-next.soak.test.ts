import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chromium, launchBrowser, newPage, seriousViolations, shoot } from "../browser/support/stage.ts";
import { mustBeBuilt, root } from "../docs/built.ts";
import { DOCUMENT, startWriter } from "../examples/support/writer-model.ts";
import { addressOf, CONFIG, installNextApp, NEXT_ENV, nextIn } from "../package/support/next-app.ts";
import type { ProtocolServer } from "../support/protocol/server.ts";

// The Next.js example in a browser: packed, installed, built and started as its README says.

const run = promisify(execFile);
const home = mkdtempSync(join(tmpdir(), "heddle-next-example-"));
const example = `${root}examples/chat/`;

/** The example starts from these files; the others are of its Hono server. */
const FILES = ["app", "chat", "page.css", "tsconfig.json"];

/** The first votes that the page reads reach it when the returned function is called, so a person votes before. */
async function holdVotes(page: Page): Promise<() => Promise<void>> {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: delivered, resolve: deliver } = Promise.withResolvers<void>();
  let isHeld = false;
  await page.route("**/api/votes/*", async (route) => {
    if (isHeld || route.request().method() !== "GET") return route.continue();
    isHeld = true;
    const response = await route.fetch();
    await released;
    await route.fulfill({ response });
    deliver();
  });
  return async () => {
    release();
    await delivered;
    await page.evaluate("new Promise(requestAnimationFrame)");
  };
}

interface Manifest {
  readonly dependencies: { readonly [name: string]: string };
  readonly devDependencies: { readonly [name: string]: string };
}

describe.runIf(chromium)("The chat example on Next.js", () => {
  let provider: ProtocolServer;
  let server: ChildProcess | undefined;
  let url: string;
  let unreachable: string | undefined;

  beforeAll(async () => {
    mustBeBuilt();
    provider = await startWriter();
    const packed = await run("npm", ["pack", "--ignore-scripts", "--silent", "--pack-destination", home], {
      cwd: root,
    });
    for (const name of FILES) cpSync(example + name, join(home, name), { recursive: true });
    const manifest = JSON.parse(readFileSync(`${example}package.json`, "utf8")) as Manifest; // it is in this repository
    const heddle = `file:./${packed.stdout.trim().split("\n").at(-1)}`;
    const dependencies = { ...manifest.dependencies, ...manifest.devDependencies, heddle };
    unreachable = await installNextApp(home, { "next.config.mjs": CONFIG }, dependencies);
    if (unreachable !== undefined) return;
    const env = {
      ...NEXT_ENV,
      OPENAI_API_KEY: "none",
      OPENAI_BASE_URL: provider.openaiUrl,
      ASKS_PER_DAY: "3",
    };
    await run(process.execPath, [nextIn(home), "build"], { cwd: home, env });
    server = spawn(process.execPath, [nextIn(home), "start", "--port", "0"], {
      cwd: home,
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    url = await addressOf(server);
  });

  afterAll(async () => {
    if (server !== undefined) {
      server.kill();
      await once(server, "exit");
    }
    await provider?.stop();
    rmSync(home, { recursive: true, force: true });
  });

  test("a person signs in, gets a document, edits, votes, and finds all of it after a reload", async ({ skip }) => {
    if (unreachable !== undefined) return skip(unreachable);
    const browser = await launchBrowser();
    const complaints: string[] = [];
    try {
      const page = await newPage(browser, complaints);
      const send = async (text: string, button = "Send"): Promise<void> => {
        await page.getByLabel("Message").fill(text);
        await page.getByRole("button", { name: button, exact: true }).click();
      };
      const lateVotes = await holdVotes(page);
      await page.goto(url);
      await page.getByLabel("Your name").fill("Ada");
      await page.getByRole("button", { name: "Sign in" }).click();
      await send("Write about the sea.");
      await page.getByLabel("Document").getByText(DOCUMENT).waitFor();
      await page.getByText("It is beside the chat.").waitFor();
      await page.getByRole("heading", { name: "A text of the sea" }).waitFor();

      await page.getByRole("button", { name: "Good" }).click();
      await page.locator('[aria-pressed="true"]', { hasText: "Good" }).waitFor();
      await lateVotes();
      await page.locator('[aria-pressed="true"]', { hasText: "Good" }).waitFor();
      await page.getByRole("button", { name: "Edit" }).click();
      await send("Thanks.", "Save");
      await page.getByText("You are welcome.").waitFor();
      await page.getByText("2 of 2").waitFor();
      await shoot(page, "chat-example");
      expect(await seriousViolations(page)).toEqual([]);

      await page.reload();
      await page.getByRole("button", { name: "A text of the sea", exact: true }).click();
      await page.getByText("You are welcome.").waitFor();
      await page.getByRole("button", { name: "‹" }).click();
      await page.getByLabel("Document").getByText(DOCUMENT).waitFor();
      await page.locator('[aria-pressed="true"]', { hasText: "Good" }).waitFor();

      await send("Thanks again.");
      await page.getByText("You are welcome.").waitFor();
      await send("And again.");
      await page.getByRole("alert").getByText("You have asked 3 times today").waitFor();
    } finally {
      await browser.close();
    }
  });
});
