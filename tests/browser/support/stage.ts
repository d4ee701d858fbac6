import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import axe from "axe-core";
import { type AnyAgent, memoryStore, type ThreadStore } from "heddle";
import { demoAgent, type RunningStudio, startStudio } from "heddle/studio";
import type { Browser, Page } from "playwright-core";
import { inject } from "vitest";
import { buildStudio } from "../../../scripts/build-studio.ts";
import { launch } from "./browser.ts";
import type { HandClock } from "./hand-clock.ts";

const WIDE = { width: 1440, height: 900 } as const;
export const NARROW = { width: 420, height: 860 } as const;

/** Where pictures are kept to be looked at, when they are asked for: a page is drawn for each. */
const SHOTS = process.env["HEDDLE_SHOTS"];

/** Where the browser is; empty when there is none, and then there is nothing to test with. */
export const chromium = inject("chromium");

let ui: string | undefined;

/** The page, built once in each worker, so that the sources are tested. */
export async function builtPage(): Promise<string> {
  if (ui !== undefined) return ui;
  const folder = mkdtempSync(join(tmpdir(), "heddle-ui-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  await buildStudio(folder);
  ui = folder;
  return folder;
}

let shared: Promise<Browser> | undefined;
/** One for all stages of a worker, with which it ends. Each window has its own cookies and storage. */
const sharedBrowser = (): Promise<Browser> => (shared ??= launchBrowser());

export interface StageOptions {
  readonly store?: ThreadStore;
  /** Between two words of the demo model. */
  readonly wordMs?: number;
  /** The demo's timers. */
  readonly after?: HandClock["after"];
  /** Instead of the demo. */
  readonly agent?: AnyAgent;
  readonly agents?: readonly AnyAgent[];
  readonly readOnly?: boolean;
  readonly token?: string;
}

/** A Studio, a browser, and as many windows as a story needs. */
export class Stage {
  readonly studio: RunningStudio;
  readonly store: ThreadStore;
  readonly page: Page;
  /** What a page has complained of: nothing may. */
  readonly complaints: string[];
  readonly #browser: Browser;
  readonly #windows: Page[];

  private constructor(parts: {
    studio: RunningStudio;
    store: ThreadStore;
    page: Page;
    complaints: string[];
    browser: Browser;
  }) {
    this.studio = parts.studio;
    this.store = parts.store;
    this.page = parts.page;
    this.complaints = parts.complaints;
    this.#browser = parts.browser;
    this.#windows = [parts.page];
  }

  static async open({ store = memoryStore(), wordMs = 0, after, ...options }: StageOptions = {}): Promise<Stage> {
    const agent = options.agents ? undefined : demoAgent({ wordMs, ...(after && { ports: { after } }) });
    const studio = await startStudio({ store, port: 0, agent, ui: await builtPage(), label: "memory", ...options });
    const browser = await sharedBrowser();
    const complaints: string[] = [];
    const page = await newPage(browser, complaints);
    await page.goto(studio.url);
    await page.waitForFunction(() => localStorage.getItem("heddle.token") !== null);
    return new Stage({ studio, store, page, complaints, browser });
  }

  get origin(): string {
    return new URL(this.studio.url).origin;
  }

  /** Another browser, with the token unless it is to have none. */
  async window({ hasToken = true } = {}): Promise<Page> {
    const page = await newPage(this.#browser, this.complaints);
    const { token } = this.studio;
    if (hasToken) await page.addInitScript((kept) => localStorage.setItem("heddle.token", kept), token);
    this.#windows.push(page);
    return page;
  }

  /** A call of the API. */
  fetch(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { authorization: `Bearer ${this.studio.token}`, "content-type": "application/json" };
    return fetch(new URL(path, this.origin), { ...init, headers });
  }

  /** The start of the Studio, with no thread open. */
  async toStart(): Promise<Page> {
    await this.page.goto(`${this.origin}/#/`);
    await this.page.locator(".start .prompt").first().waitFor();
    return this.page;
  }

  async close(): Promise<void> {
    await Promise.all(this.#windows.map((page) => page.context().close()));
    await this.studio.stop({ graceMs: 100 });
    await this.store.close();
  }
}

export function launchBrowser(): Promise<Browser> {
  return launch(chromium);
}

export async function newPage(browser: Browser, complaints: string[]): Promise<Page> {
  const page = await browser.newPage({ viewport: WIDE, colorScheme: "light" });
  page.setDefaultTimeout(120_000); // a busy machine is slow, not wrong
  page.on("pageerror", ({ message }) => complaints.push(message));
  page.on("console", (said) => {
    if (said.type() === "error") complaints.push(said.text());
  });
  return page;
}

/** A picture in light and dark. */
export async function shoot(page: Page, name: string): Promise<void> {
  if (SHOTS === undefined) return;
  mkdirSync(SHOTS, { recursive: true });
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    await page.screenshot({ path: join(SHOTS, `${name}-${colorScheme}.png`), animations: "disabled" });
  }
}

/** What axe finds serious, in light and dark. Only colors differ in dark, and a whole run takes a second. */
export async function seriousViolations(page: Page): Promise<string[]> {
  const found: string[] = [];
  const isThere = await page.evaluate(() => "axe" in globalThis);
  if (!isThere) await page.evaluate(axe.source); // by the debugger, so that the page's own policy stays what it is
  for (const [colorScheme, runOnly] of [
    ["dark", ["color-contrast", "link-in-text-block"]],
    ["light", undefined],
  ] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    const { violations } = await page.evaluate(
      (options) => (globalThis as unknown as { axe: typeof axe }).axe.run(options),
      { resultTypes: ["violations" as const], ...(runOnly && { runOnly: [...runOnly] }) },
    );
    for (const { id, impact, nodes } of violations) {
      if (impact !== "serious" && impact !== "critical") continue;
      found.push(
        ...nodes.map(({ target, failureSummary }) => `${colorScheme} ${id} ${target.join(" ")} ${failureSummary}`),
      );
    }
  }
  return found;
}

export async function ask(page: Page, text: string): Promise<void> {
  await page.fill("#composer", text);
  await page.press("#composer", "Enter");
}

/** Presses a shortcut, outside of whatever field has the focus. */
export async function shortcut(page: Page, key: string): Promise<void> {
  await page.locator("main").focus();
  await page.keyboard.press(key);
}

/** Asks and waits for the end of the answer. */
export async function talk(page: Page, text: string): Promise<void> {
  const before = await page.locator(".turn.user").count();
  await ask(page, text);
  await page.locator(".turn.user").nth(before).waitFor();
  await atRest(page);
}

/** Does something from the menu of the thread. */
export async function fromMenu(page: Page, name: string): Promise<void> {
  await page.locator(".menu summary").click();
  await page.locator(".menu-items").getByText(name).click();
}

/** What the reader of the page is told in passing. */
export async function told(page: Page, text: string): Promise<void> {
  const toast = page.locator(".toast", { hasText: text });
  await toast.waitFor();
  await toast.getByLabel("Dismiss").click();
}

export async function atRest(page: Page): Promise<void> {
  await page.locator(".thread-head .pill.state-completed").waitFor();
  await page.locator(".stop").waitFor({ state: "detached" });
}
