import { type ChatTransportOptions, chatTransport } from "heddle/client";
import { expect, onTestFinished, test, vi } from "vitest";
import { HandClock } from "../browser/support/hand-clock.ts";
import { agentWith, isAsReloaded, slowly, TestServer, tabOn } from "./support/pages.ts";

function fakeTimers(): void {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date"] });
  onTestFinished(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });
}

test.each([6, 7] as const)(
  "a page of AI SDK %i continues after a connection that is dead and does not end, with each word once",
  async (version) => {
    const clock = new HandClock();
    const server = new TestServer(agentWith([slowly("One ", "two ", "three.")], clock));
    fakeTimers();
    const tab = tabOn(server, version);
    const sent = tab.chat.sendMessage({ text: "Count." });
    await expect.poll(tab.texts).toBe("Count. | One ");
    server.freeze();
    clock.pass(1);
    await vi.advanceTimersByTimeAsync(44_000);
    expect(tab.texts()).toBe("Count. | One ");
    await vi.advanceTimersByTimeAsync(1_000);
    await expect.poll(tab.texts).toBe("Count. | One two ");
    clock.pass(1);
    await sent;
    expect(tab.texts()).toBe("Count. | One two three.");
    expect(tab.chat.statuses).not.toContain("error");
    await isAsReloaded(server, tab, version);
  },
);

test("a model that is silent for long keeps its connection", async () => {
  const clock = new HandClock();
  const server = new TestServer(agentWith([slowly("One ", "two.")], clock));
  fakeTimers();
  const tab = tabOn(server);
  const sent = tab.chat.sendMessage({ text: "Count." });
  await expect.poll(tab.texts).toBe("Count. | One ");
  const { length } = server.read;
  await vi.advanceTimersByTimeAsync(100_000);
  clock.pass(1);
  await sent;
  expect(tab.texts()).toBe("Count. | One two.");
  expect(server.read.slice(length).join("")).not.toContain("One ");
});

test("a server without such comments may be silent as long as it likes", async () => {
  fakeTimers();
  const chunks = [{ type: "start", messageId: "m" }, { type: "finish" }];
  const [start = "", finish = ""] = chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
  const body = Promise.withResolvers<ReadableStreamDefaultController<Uint8Array>>();
  const send = async (text: string): Promise<void> => (await body.promise).enqueue(new TextEncoder().encode(text));
  const fetch = vi.fn(async () => new Response(new ReadableStream({ start: body.resolve })));
  const options = { trigger: "submit-message", chatId: "t", messageId: undefined, abortSignal: undefined } as const;
  const stream = await chatTransport({ fetch }).sendMessages({ ...options, messages: [] });
  const read = Array.fromAsync(stream);
  await send(`: keepalive\n\n${start}`);
  await vi.advanceTimersByTimeAsync(600_000);
  await send(`${finish}data: [DONE]\n\n`);
  expect(await read).toEqual(chunks);
  expect(fetch).toHaveBeenCalledOnce();
});

test("a tab whose connection is dead finds what others have written", async () => {
  const server = new TestServer(agentWith(["Four."]));
  fakeTimers();
  const tab = tabOn(server);
  await expect.poll(() => server.read.at(-1)).toContain("retry:");
  server.freeze();
  await (await server.host.ask("t", "2+2?")).result;
  await vi.advanceTimersByTimeAsync(44_000);
  expect(tab.texts()).toBe("");
  await vi.advanceTimersByTimeAsync(1_000);
  await expect.poll(tab.texts).toBe("2+2? | Four.");
});

/** Times of attempts to reach a server that is away, and how it ended. */
async function attempts(
  given: ChatTransportOptions = {},
): Promise<{ readonly times: number[]; readonly error: unknown }> {
  const begun = Date.now();
  const times: number[] = [];
  const fetch = async (): Promise<Response> => {
    times.push(Date.now() - begun);
    return new Response("Bad gateway", { status: 502 });
  };
  const ended = chatTransport({ ...given, fetch })
    .messages("t")
    .catch((error: unknown) => error);
  let error: unknown;
  void ended.then((refused) => {
    error = refused;
  });
  while (error === undefined && times.length < 1_000) await vi.advanceTimersByTimeAsync(1_000);
  return { times, error };
}

test.each([0, 0.999])(
  "a server that does not answer is tried for five minutes, whatever the jitter: %d",
  async (random) => {
    fakeTimers();
    vi.spyOn(Math, "random").mockReturnValue(random);
    const { times, error } = await attempts();
    expect(error).toMatchObject({ code: "server_unreachable", retryable: true, status: 502 });
    const waits = times.slice(1).map((at, index) => at - (times[index] ?? 0));
    expect(times.at(-1)).toBeGreaterThanOrEqual(300_000);
    expect(times.at(-1)).toBeLessThanOrEqual(310_000);
    expect(waits[0]).toBeLessThanOrEqual(250);
    expect(Math.max(...waits)).toBeLessThanOrEqual(10_000);
    expect(waits.slice(8).every((ms) => ms >= 5_000)).toBe(true);
  },
);

test("a page that slept has the rest of its five minutes", async () => {
  fakeTimers();
  let slept = false;
  const { times } = await attempts({
    retryDelayMs: () => {
      if (!slept) vi.setSystemTime(Date.now() + 3_600_000);
      slept = true;
      return 10_000;
    },
  });
  expect(times.at(-1)).toBeGreaterThan(3_600_000 + 200_000);
});

test("a page that is online again tries at once", async () => {
  fakeTimers();
  const target = new EventTarget();
  vi.stubGlobal("addEventListener", target.addEventListener.bind(target));
  vi.stubGlobal("removeEventListener", target.removeEventListener.bind(target));
  onTestFinished(() => void vi.unstubAllGlobals());
  const answer = vi.fn<() => Response>(() => {
    throw new TypeError("Failed to fetch");
  });
  const messages = chatTransport({ fetch: async () => answer() }).messages("t");
  await vi.advanceTimersByTimeAsync(60_000);
  answer.mockImplementation(() => Response.json({ messages: [] }));
  const { length } = answer.mock.calls;
  target.dispatchEvent(new Event("online"));
  expect(await messages).toEqual({ messages: [] });
  expect(answer.mock.calls.length).toBe(length + 1);
});
