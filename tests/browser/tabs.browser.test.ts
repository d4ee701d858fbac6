import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryStore } from "heddle";
import { demoAgent, studioHandler } from "heddle/studio";
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { listener } from "../../src/studio/start-studio.ts";
import { isSoak } from "../support/case-budget.ts";
import { builtPage } from "./support/stage.ts";

const TOKEN = "a-token-of-the-tests";
/** A browser opens six connections to a server of HTTP/1.1. */
const TABS = isSoak ? 12 : 7;

const BROWSERS = [
  { browser: "chrome", executablePath: inject("chromium"), args: ["--no-sandbox", "--disable-dev-shm-usage"] },
  { browser: "firefox", executablePath: inject("firefox"), args: [] },
] as const;

/** A Studio that counts the event streams that are open. */
async function countedStudio(store = memoryStore()) {
  const agent = demoAgent({ wordMs: 0 });
  const handle = await studioHandler({ store, agent, token: TOKEN, ui: await builtPage() });
  const streams = new Set<Request>();
  const server = createServer(
    listener(async (request) => {
      if (/\/events$/.test(new URL(request.url).pathname)) {
        streams.add(request);
        request.signal.addEventListener("abort", () => streams.delete(request));
      }
      return handle(request);
    }, "localhost"),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await handle.stop({ graceMs: 0 });
  });
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, streams };
}

async function post(url: string, body: object): Promise<{ readonly id: string }> {
  const headers = { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" };
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  return (await response.json()) as { readonly id: string };
}

/** As in a window of its own, or behind another tab. */
async function setVisibility(page: Page, state: "visible" | "hidden"): Promise<void> {
  await page.evaluate(`
    Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
  `);
}

describe.each(isSoak ? BROWSERS : BROWSERS.slice(0, 1))("In $browser", ({ browser: name, executablePath, args }) => {
  test.runIf(executablePath)(
    "more tabs than connections share one event stream; hidden tabs have none, and read what they missed",
    async () => {
      const { origin, streams } = await countedStudio();
      const browser: Browser = await puppeteer.launch({ browser: name, executablePath, args: [...args] });
      onTestFinished(() => browser.close());
      const ids: string[] = [];
      for (let tab = 0; tab < TABS; tab++) ids.push((await post(`${origin}/api/threads`, { title: `Tab ${tab}` })).id);
      const pages: Page[] = [];
      for (const id of ids) {
        const page = await browser.newPage();
        if (pages.length === 0) {
          await page.goto(origin);
          await page.evaluate(`localStorage.setItem("heddle.token", "${TOKEN}")`);
        }
        await page.goto(`${origin}/#/t/${id}`);
        if (pages.length === 0) await page.reload();
        await page.waitForSelector(".thread-head .tabs");
        pages.push(page);
      }
      const isAnswered = (page: Page) => page.$(".thread-head .state-completed").then((found) => found !== null);
      const [front, second] = pages as [Page, Page];
      await expect.poll(() => streams.size).toBe(1);

      // A background tab reads what it missed when it is shown.
      await post(`${origin}/api/threads/${ids[0]}/ask`, { content: "What is 6 * 7?" });
      await front.bringToFront();
      await expect.poll(() => isAnswered(front)).toBe(true);
      await expect.poll(() => streams.size).toBe(1);

      for (const page of pages) await setVisibility(page, "visible");
      await expect.poll(() => streams.size).toBe(1);
      await post(`${origin}/api/threads/${ids[1]}/ask`, { content: "What is 5 * 5?" });
      await expect.poll(() => isAnswered(second)).toBe(true);
      await expect.poll(() => streams.size).toBe(1); // another tab may just be taking over the stream

      for (const page of pages) await setVisibility(page, "hidden");
      await expect.poll(() => streams.size).toBe(0);
    },
  );
});
