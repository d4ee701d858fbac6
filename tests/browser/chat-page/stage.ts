// A chat page in a browser, and the server of its chat in this process.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { getRequestListener } from "@hono/node-server";
import { build } from "esbuild";
import { AgentHost, type Tools } from "heddle";
import { type ChatHandlerOptions, chatHandler } from "heddle/ai-sdk";
import { postgresStore } from "heddle/postgres";
import { sqliteStore } from "heddle/sqlite";
import { type ScriptedModel, type ScriptedStep, scriptedModel } from "heddle/testing";
import { Hono } from "hono";
import puppeteer, { type Browser, type Page } from "puppeteer-core";
import { expect, onTestFinished } from "vitest";
import { CONFIG, installNextApp, LAYOUT, NEXT_ENV, nextIn } from "../../package/support/next-app.ts";
import { agentOf } from "../../runtime/ui-messages/chat.ts";
import { type Child, startChild } from "../../support/child.ts";
import { fastFile, fastFolder } from "../../support/temp-folder.ts";
import { HandClock } from "../support/hand-clock.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** A browser, the AI SDK of its page, and the framework of the server. */
export interface Setting {
  readonly browser: "chrome" | "firefox";
  readonly executablePath: string;
  readonly client: 6 | 7;
  readonly server: "Hono" | "node:http" | "Next.js";
  /** The page has the transport of the AI SDK and no hook. */
  readonly isOfSdk?: boolean;
  /** The URL of a Postgres server: two hosts on it answer in turns, as behind a load balancer without sticky sessions. */
  readonly pods?: string;
}

const pages = new Map<number, Promise<string>>();

/** The script of the page, with the sources of Heddle. */
function pageScript(client: 6 | 7): Promise<string> {
  const known = pages.get(client);
  if (known !== undefined) return known;
  const made = bundlePage(client);
  pages.set(client, made);
  return made;
}

async function bundlePage(client: 6 | 7): Promise<string> {
  const folder6 = createRequire(`${root}package.json`)
    .resolve("ai-react-v6")
    .replace(/ai-react-v6\/.*$/, "ai-react-v6");
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL("page.jsx", import.meta.url))],
    bundle: true,
    write: false,
    format: "esm",
    platform: "browser",
    target: "es2023",
    jsx: "automatic",
    absWorkingDir: root,
    define: { "process.env.NODE_ENV": '"development"' },
    alias: {
      "heddle/react": `${root}src/react.ts`,
      ...(client === 6 && { "@ai-sdk/react": folder6, ai: `${folder6}/node_modules/ai` }),
    },
    logLevel: "error",
  });
  return outputFiles[0]?.text ?? "";
}

type Handler = (request: Request) => Promise<Response>;

/** The chats of this process, by name. */
const chats = new Map<string, Handler>();
const origins = new Map<Setting["server"], Promise<string>>();

/** The page, its script and the chats, as a Request -> Response. */
async function respond(request: Request): Promise<Response> {
  const { pathname, searchParams } = new URL(request.url);
  const [first = "", second] = pathname.split("/").filter(Boolean);
  if (first === "page") {
    const html = `<!doctype html><title>Chat</title><div id="root"></div><script type="module" src="/script${searchParams.get("client")}.js"></script>`;
    return new Response(html, { headers: { "content-type": "text/html; charset=utf-8" } });
  }
  const version = /^script([67])\.js$/.exec(first)?.[1];
  if (version !== undefined) {
    const script = await pageScript(version === "6" ? 6 : 7);
    return new Response(script, { headers: { "content-type": "text/javascript; charset=utf-8" } });
  }
  const handler = first === "chats" ? chats.get(second ?? "") : undefined;
  return handler === undefined ? new Response(null, { status: 204 }) : handler(request);
}

/** One server for all chats of a worker. */
function originOf(kind: Setting["server"]): Promise<string> {
  const known = origins.get(kind);
  if (known !== undefined) return known;
  const made = listen(kind);
  origins.set(kind, made);
  return made;
}

const LISTENERS: { readonly [Kind in Setting["server"]]: () => Promise<RequestListener> } = {
  Hono: async () => getRequestListener(new Hono().all("*", ({ req }) => respond(req.raw)).fetch),
  "node:http": async () => plainListener,
  "Next.js": nextListener,
};

/** Next.js bundles its routes, so they find the chats of this process where both see them. */
const NEXT_ROUTE = `const respond = (request) => globalThis.heddleChatPage(request);
export { respond as GET, respond as POST };
export const dynamic = "force-dynamic";`;

/** A built Next.js app, whose server runs in this process. */
async function nextListener(): Promise<RequestListener> {
  const home = mkdtempSync(join(tmpdir(), "heddle-next-chat-"));
  process.once("exit", () => rmSync(home, { recursive: true, force: true }));
  const files = { "next.config.mjs": CONFIG, "app/layout.jsx": LAYOUT, "app/[...path]/route.js": NEXT_ROUTE };
  const unreachable = await installNextApp(home, files);
  if (unreachable !== undefined) throw new Error(unreachable);
  await promisify(execFile)(process.execPath, [nextIn(home), "build"], { cwd: home, env: NEXT_ENV });
  Object.assign(globalThis, { heddleChatPage: respond });
  const next = createRequire(join(home, "package.json"))("next") as (options: object) => {
    prepare(): Promise<void>;
    getRequestHandler(): RequestListener;
  }; // the part of Next.js that is used here
  const app = next({ dev: false, dir: home, hostname: "127.0.0.1" });
  await app.prepare();
  return app.getRequestHandler();
}

async function listen(kind: Setting["server"]): Promise<string> {
  const server = createServer(await LISTENERS[kind]());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  server.unref();
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server of node:http without a framework. */
async function plainListener(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.once("close", () => gone.abort());
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [name, String(value)]);
  const { method = "GET" } = incoming;
  const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
    method,
    headers,
    signal: gone.signal,
    ...(method === "POST" && { body: Buffer.concat(chunks) }),
  });
  const response = await respond(request);
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  if (response.body !== null) {
    const reader = response.body.getReader();
    gone.signal.addEventListener("abort", () => void reader.cancel());
    for (let next = await reader.read(); !next.done; next = await reader.read()) outgoing.write(next.value);
  }
  outgoing.end();
}

const browsers = new Map<string, Promise<Browser>>();

/** One browser for all tests of a worker, with which it ends. */
function browserOf({ browser, executablePath }: Setting): Promise<Browser> {
  const known = browsers.get(browser);
  if (known !== undefined) return known;
  const args = browser === "chrome" ? ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"] : [];
  const made = puppeteer.launch({ browser, executablePath, args });
  browsers.set(browser, made);
  return made;
}

export async function closeBrowsers(): Promise<void> {
  for (const browser of browsers.values()) await (await browser).close();
  browsers.clear();
}

interface ChatOptions {
  readonly script: readonly ScriptedStep[];
  readonly tools?: Tools;
  readonly stream?: ChatHandlerOptions["stream"];
  /** More of the address of the page. */
  readonly query?: string;
}

/** A chat on a SQLite file, whose model waits for the test. */
export interface Chat {
  readonly host: AgentHost;
  readonly model: ScriptedModel;
  readonly clock: HandClock;
  open(): Promise<Tab>;
}

/** A chat whose server is a process of its own, which has one address for all restarts. */
export interface ServerProcess {
  open(): Promise<Tab>;
  end(signal: "SIGKILL" | "SIGTERM"): Promise<void>;
  restart(): Promise<void>;
}

/** The first process sends one word of its answer. The next one sends all. */
export async function serverProcess(setting: Setting): Promise<ServerProcess> {
  const place = { store: setting.pods ?? fastFile(), tenant: randomUUID() };
  const script = join(fastFolder(), "page.js");
  writeFileSync(script, await pageScript(setting.client));
  const start = async (port?: number): Promise<Child> => {
    const words = port === undefined ? ["One "] : ["One ", "two."];
    const options = { ...place, script, port: port ?? 0, client: setting.client, words };
    const child = startChild(new URL("chat-process.ts", import.meta.url), JSON.stringify(options));
    await child.wrote(1);
    return child;
  };
  let child = await start();
  const port = Number(child.lines[0]);
  const other = setting.pods === undefined ? undefined : await start(0);
  const entrance = other === undefined ? port : await balancer(port, Number(other.lines[0]));
  return {
    open: () => openTab(setting, `http://127.0.0.1:${entrance}`, "/chats/process/api/chat"),
    async end(signal) {
      if (signal === "SIGKILL") return child.kill();
      child.send(signal);
      await child.ended;
    },
    async restart() {
      child = await start(port);
    },
  };
}

/**
 * A load balancer without sticky sessions: the first post goes to the first server, all others in turns. A server that refuses the
 * connection is left out.
 */
async function balancer(...ports: readonly [number, number]): Promise<number> {
  let turn = 0;
  let hasPosted = false;
  const server = createServer((incoming, outgoing) => {
    const isFirstPost = incoming.method === "POST" && !hasPosted;
    hasPosted ||= isFirstPost;
    const first = isFirstPost ? 0 : turn++ % 2;
    const send = (index: number, isLast: boolean): void => {
      const { method, url, headers } = incoming;
      const sent = httpRequest({ host: "127.0.0.1", port: ports[index], method, path: url, headers });
      sent.on("response", (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.on("error", () => outgoing.destroy());
        response.pipe(outgoing);
      });
      sent.on("error", () => (isLast || outgoing.headersSent ? outgoing.destroy() : send(1 - index, true)));
      outgoing.once("close", () => sent.destroy());
      if (method === "GET") sent.end();
      else incoming.pipe(sent);
    };
    send(first, false);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return (server.address() as AddressInfo).port;
}

let names = 0;

export async function chatIn(setting: Setting, { script, tools = {}, stream, query = "" }: ChatOptions): Promise<Chat> {
  const clock = new HandClock();
  const model = scriptedModel(script, { after: clock.after });
  const { pods } = setting;
  const tenant = randomUUID();
  const stores = pods === undefined ? [sqliteStore(fastFile())] : [1, 2].map(() => postgresStore(pods, { tenant }));
  const agent = agentOf([], { model, tools });
  const hosts = stores.map((store) => AgentHost.create({ agent, store, warn: () => undefined }));
  // The transport of the AI SDK does not say its version.
  const handlers = hosts.map((host) => {
    return chatHandler({ host, authorize: () => true, stream: { client: setting.client, ...stream } });
  });
  const [host] = hosts;
  if (host === undefined) throw new Error("There is one store at least.");
  const name = `chat${++names}`;
  let turn = 0;
  chats.set(
    name,
    async (request) => handlers[turn++ % handlers.length]?.(request) ?? new Response(null, { status: 502 }),
  );
  onTestFinished(async () => {
    for (const one of hosts) await one.stop({ graceMs: 0 });
    for (const store of stores) await store.close();
  });
  const origin = await originOf(setting.server);
  return { host, model, clock, open: () => openTab(setting, origin, `/chats/${name}/api/chat`, query) };
}

async function openTab(setting: Setting, origin: string, api: string, query = ""): Promise<Tab> {
  const browser = await browserOf(setting);
  const context = await browser.createBrowserContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const sdk = setting.isOfSdk ? "&sdk" : "";
  await page.goto(`${origin}/page?client=${setting.client}&api=${api}${sdk}${query}`);
  const tab = new Tab(page, setting);
  await tab.isLoaded();
  return tab;
}

/** A tab with the page, as its reader sees it. Firefox hides the tabs behind the newest one, which then load nothing. */
export class Tab {
  readonly page: Page;
  readonly #setting: Setting;

  constructor(page: Page, setting: Setting) {
    this.page = page;
    this.#setting = setting;
  }

  async isLoaded(): Promise<void> {
    await this.page.waitForSelector("#words");
    if (!this.#setting.isOfSdk) await this.page.waitForFunction("window.chat.loaded !== undefined");
  }

  async send(text: string, { clicks = 1 } = {}): Promise<void> {
    await this.page.type("#words", text);
    await this.page.click("#send", { count: clicks });
  }

  async click(selector: string): Promise<void> {
    await this.page.waitForSelector(selector);
    await this.page.$eval(selector, (element) => (element as unknown as { click(): void }).click());
  }

  /** Each message as `role: text | text`. */
  async shown(): Promise<string> {
    return this.page.evaluate(`[...document.querySelectorAll("#messages > li")].map((message) =>
      message.dataset.role + ": " + [...message.querySelectorAll("p")].map((part) => part.textContent).join(" | ") +
      (message.querySelector("i") ? " [" + message.querySelector("i").textContent + "]" : "")).join("\\n")`) as Promise<string>; // a text
  }

  async shows(...lines: string[]): Promise<void> {
    await this.page.bringToFront();
    await expect.poll(() => this.shown(), { interval: 20 }).toBe(lines.join("\n"));
  }

  /** Changes the message at this place of the list, from 1. */
  async edit(place: number, text: string): Promise<void> {
    await this.click(`#messages > li:nth-child(${place}) .edit`);
    await this.send(text);
  }

  async attach(file: string): Promise<void> {
    const input = await this.page.$("input#files");
    await input?.uploadFile(file);
  }

  /** The pictures that are loaded, with their sizes. */
  pictures(): Promise<readonly string[]> {
    return this.page.evaluate(`Promise.all([...document.querySelectorAll("#messages img")].map(async (image) => {
      await image.decode();
      return image.alt + " " + image.naturalWidth + "x" + image.naturalHeight;
    }))`) as Promise<readonly string[]>; // texts
  }

  /** The mark of the last answer, if it is not whole. */
  mark(): Promise<string | undefined> {
    return this.page.evaluate(`document.querySelector("#messages > li:last-child").dataset.mark`) as Promise<
      string | undefined
    >; // an attribute
  }

  /** Posts the last message of the user again, as a browser does whose first post got no response. */
  async repeat(): Promise<void> {
    await this.page.evaluate(`fetch(new URLSearchParams(location.search).get("api"), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ id: "t", messages: window.chat.messages.filter(({ role }) => role === "user").slice(-1) }),
    }).then((response) => response.text())`);
  }

  text(selector: string): Promise<string> {
    return this.page.evaluate(
      `document.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`,
    ) as Promise<string>; // a text
  }

  async isReady(): Promise<void> {
    await expect.poll(() => this.text("#status"), { interval: 20 }).toBe("ready");
    expect(await this.text("#error")).toBe("");
  }

  /** The messages as JSON. */
  messages(): Promise<string> {
    return this.page.evaluate("JSON.stringify(window.chat.messages)") as Promise<string>; // a text
  }

  async reload(): Promise<void> {
    await this.page.reload();
    await this.isLoaded();
  }

  /** A reload shows the same messages, byte for byte. */
  async isSameAfterReload(): Promise<void> {
    const before = await this.shown();
    if (!this.#setting.isOfSdk) await this.isAsLoaded();
    const messages = await this.messages();
    await this.reload();
    expect(await this.shown()).toBe(before);
    if (!this.#setting.isOfSdk) expect(await this.messages()).toBe(messages);
  }

  /** The hook loads the messages after each answer. */
  async isAsLoaded(): Promise<void> {
    await this.page.bringToFront();
    const loaded = `fetch(new URLSearchParams(location.search).get("api") + "/t/messages?client=${this.#setting.client}")
      .then((response) => response.json()).then(({ messages }) => JSON.stringify(messages))`;
    await expect.poll(async () => (await this.page.evaluate(loaded)) === (await this.messages())).toBe(true);
  }
}
