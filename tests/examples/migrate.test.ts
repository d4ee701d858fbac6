import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { UIMessage } from "ai";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { root } from "../docs/built.ts";
import { Page, type Route } from "../runtime/own-loop/page.ts";
import { type Answer, type ProtocolServer, startProtocolServer } from "../support/protocol/server.ts";

/** The route of a chat on the AI SDK alone, and the same one on Heddle. */
interface App {
  readonly POST: Route;
  readonly load: (id: string) => Promise<readonly { readonly id: string }[]>;
}

let folder: string;
let provider: ProtocolServer;
let chats = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-migrate-"));
  provider = await startProtocolServer();
});

afterAll(async () => {
  await provider.stop();
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

/** The packages of the providers call a server of this machine. */
beforeEach(() => {
  const { fetch } = globalThis;
  vi.stubEnv("OPENAI_API_KEY", "none");
  vi.stubEnv("ANTHROPIC_API_KEY", "none");
  vi.stubGlobal("fetch", (url: unknown, init?: RequestInit) =>
    fetch(String(url).replace(/^https:\/\/api\.(openai|anthropic)\.com/, provider.url), init),
  );
});

async function appOf(name: "before" | "after"): Promise<App> {
  vi.stubEnv("CHAT_DB", join(folder, `${name}.db`));
  return name === "before" ? import("../../examples/migrate/before.ts") : import("../../examples/migrate/after.ts");
}

const weather = { name: "weather", arguments: { city: "Bern" } };
const flights = { name: "flights", arguments: { city: "Bern" } };
const book = { name: "book", arguments: { city: "Bern" } };

/** The names of the tools, and the choice, as the provider got them. */
function offered(index: number): { readonly tools: readonly unknown[]; readonly choice: unknown } {
  const { tools, tool_choice: choice } = (provider.requests[index]?.body ?? {}) as {
    tools?: readonly { readonly name: string }[];
    tool_choice?: unknown;
  };
  return { tools: (tools ?? []).map(({ name }) => name), choice };
}

describe.each(["before", "after"] as const)("examples/migrate/%s.ts", (name) => {
  /** A new chat, its page, and the number of requests before it. */
  async function open(answers: readonly Answer[], body: object = {}) {
    const app = await appOf(name);
    const id = `chat_${++chats}`;
    provider.answer(...answers);
    const sent = { model: "gpt", canBook: true, ...body };
    const load = async (): Promise<UIMessage[]> => JSON.parse(JSON.stringify(await app.load(id))) as UIMessage[];
    const page = async (more: object = {}): Promise<Page> => new Page(app.POST, await load(), { ...sent, ...more }, id);
    return { page: await page(), reload: page, load, from: provider.requests.length };
  }

  test("answers with tools, and the page is the same after a reload", async () => {
    const { page, load } = await open([{ text: "I look.", calls: [weather, flights] }, { text: "Fly at night." }]);
    await page.sendMessage({ text: "How do I get to Bern?" });
    expect(page.text).toBe("I look.Fly at night.");
    const outputs = page.messages.at(-1)?.parts.flatMap((part) => ("output" in part ? [part.output] : []));
    expect(outputs).toEqual([{ city: "Bern", sky: "clear" }, "A night flight to Bern."]);
    expect(await load()).toEqual(page.shown);
    expect(provider.unused).toBe(0);
  });

  test("waits for an approval, also after a reload", async () => {
    const { page, load, reload } = await open([{ calls: [book] }, { text: "Booked." }]);
    await page.sendMessage({ text: "Book it." });
    expect(page.messages.at(-1)?.parts.some((part) => "output" in part && part.output !== undefined)).toBe(false);
    const again = await reload();
    expect(again.shown).toEqual(page.shown);
    await again.addToolApprovalResponse({ id: again.approval?.id ?? "", approved: true });
    await expect.poll(() => again.text).toBe("Booked.");
    await expect.poll(() => again.status).toBe("ready");
    expect(JSON.stringify(again.messages.at(-1)?.parts)).toContain("Booked to Bern.");
    expect(await load()).toEqual(again.shown);
  });

  test("takes no for an answer, with the reason", async () => {
    const { page, load } = await open([{ calls: [book] }, { text: "Then not." }]);
    await page.sendMessage({ text: "Book it." });
    await page.addToolApprovalResponse({ id: page.approval?.id ?? "", approved: false, reason: "too late at night" });
    await expect.poll(() => page.text).toBe("Then not.");
    await expect.poll(() => page.status).toBe("ready");
    expect(JSON.stringify(provider.requests.at(-1)?.body)).toContain("too late at night");
    expect(await load()).toEqual(page.shown);
  });

  test("calls the model that the page picks, also another one in the same chat", async () => {
    const { page, reload, from } = await open([
      { calls: [weather] },
      { text: "Clear." },
      { calls: [weather] },
      { text: "Still clear." },
    ]);
    await page.sendMessage({ text: "How is Bern?" });
    const other = await reload({ model: "claude" });
    await other.sendMessage({ text: "And now?" });
    expect(other.text).toBe("Still clear.");
    const used = provider.requests.slice(from).map(({ api, model }) => `${api} ${model}`);
    const [gpt, claude] = ["openai-responses gpt-5.2", "anthropic claude-sonnet-5"];
    expect(used).toEqual([gpt, gpt, claude, claude]);
    expect(provider.requests.slice(from).every(({ accepted }) => accepted)).toBe(true);
  });

  test("offers the active tools, and makes the model call one first", async () => {
    const { page, from } = await open([{ calls: [weather] }, { text: "Clear." }], { canBook: false });
    await page.sendMessage({ text: "How is Bern?" });
    expect(offered(from)).toEqual({ tools: ["weather", "flights"], choice: "required" });
    expect(offered(from + 1)).toEqual({ tools: ["weather", "flights"], choice: "auto" });
  });

  test("gives each answer its metadata and its id", async () => {
    const { page, load } = await open([{ calls: [weather] }, { text: "Clear." }]);
    await page.sendMessage({ text: "How is Bern?", metadata: { from: "the page" } });
    expect(page.messages.map(({ metadata }) => metadata)).toEqual([
      { from: "the page" },
      { model: "gpt", canBook: true },
    ]);
    expect(page.messages.at(-1)?.id).toMatch(/^[0-9a-f]{8}-/);
    expect(await load()).toEqual(page.shown);
  });

  test("regenerates, and takes an edited message", async () => {
    const { page, load } = await open(["One.", "Two.", "Three."].flatMap((text) => [{ calls: [weather] }, { text }]));
    await page.sendMessage({ text: "How is Bern?" });
    await page.regenerate();
    expect(page.text).toBe("Two.");
    await page.sendMessage({ text: "How is Basel?", messageId: page.messages[0]?.id ?? "" });
    expect(page.text).toBe("Three.");
    expect(page.messages).toHaveLength(2);
    expect(JSON.stringify(provider.requests.at(-1)?.body)).not.toContain("Bern?");
    expect(await load()).toEqual(page.shown);
  });

  test("stops, and continues with the next message", async () => {
    const { page, load } = await open([
      { text: ["It is ", "clear"], waitFor: new Promise(() => undefined) },
      { calls: [weather] },
      { text: "Sorry." },
    ]);
    const asked = page.sendMessage({ text: "How is Bern?" });
    await expect.poll(() => page.text).toContain("It is");
    await page.stop();
    await asked;
    await expect.poll(load).toHaveLength(2);
    await page.sendMessage({ text: "Go on." });
    expect(page.text).toBe("Sorry.");
    expect(await load()).toEqual(page.shown);
  });
});

test("after.ts differs from before.ts in at most 10 lines", () => {
  const [before = [], after = []] = ["before", "after"].map((name) =>
    readFileSync(join(root, `examples/migrate/${name}.ts`), "utf8")
      .trimEnd()
      .split("\n"),
  );
  expect(before.length).toBeGreaterThanOrEqual(30);
  expect(before.length).toBeLessThanOrEqual(40);
  expect(changedLines(before, after)).toBeLessThanOrEqual(10);
  expect(changedLines(["a", "b", "c"], ["a", "x", "y", "c", "d"])).toBe(3);
});

/** Lines that were changed, added or removed: of each place that differs, the longer side. */
function changedLines(before: readonly string[], after: readonly string[]): number {
  const [a] = before;
  const [b] = after;
  if (a === undefined || b === undefined) return Math.max(before.length, after.length);
  const known = new Map<string, number>();
  const from = (i: number, j: number): number => {
    const key = `${i} ${j}`;
    const found = known.get(key);
    if (found !== undefined) return found;
    const [one, other] = [before[i], after[j]];
    const rest =
      one === undefined || other === undefined
        ? Math.max(before.length - i, after.length - j)
        : one === other
          ? from(i + 1, j + 1)
          : 1 + Math.min(from(i + 1, j + 1), from(i + 1, j), from(i, j + 1));
    known.set(key, rest);
    return rest;
  };
  return from(0, 0);
}
