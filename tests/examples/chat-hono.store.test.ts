import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from "ai";
import postgres from "postgres";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import type { ProtocolServer } from "../support/protocol/server.ts";
import { DOCUMENT, startWriter } from "./support/writer-model.ts";

// The Hono example with Postgres, as a client of its API sees it. The page is tested with the Next.js example.

let provider: ProtocolServer;
let url: string;
let stop: () => Promise<void>;
const database = `chat_${randomUUID().replaceAll("-", "")}`;

beforeAll(async () => {
  provider = await startWriter();
  const admin = postgres(inject("postgresUrl"), { max: 1 });
  await admin.unsafe(`create database ${database}`);
  const address = new URL(inject("postgresUrl"));
  address.pathname = database;
  vi.stubEnv("DATABASE_URL", String(address));
  vi.stubEnv("OPENAI_API_KEY", "none");
  vi.stubEnv("OPENAI_BASE_URL", provider.openaiUrl);
  vi.stubEnv("ASKS_PER_DAY", "3");
  const { app, host } = await import("../../examples/chat/hono.ts");
  const server = createServer(getRequestListener(app.fetch));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`; // it listens on TCP
  stop = async () => {
    server.closeAllConnections();
    server.close();
    await host.stop();
    await host.store.close();
    await admin.unsafe(`drop database ${database} with (force)`);
    await admin.end();
    await provider.stop();
  };
});

afterAll(async () => {
  vi.unstubAllEnvs();
  await stop();
});

/** A client that has signed in. */
async function signedIn(user: string) {
  const headers = { "content-type": "application/json" };
  const session = await fetch(`${url}/api/session`, { method: "POST", headers, body: JSON.stringify({ user }) });
  const cookie = session.headers.get("set-cookie")?.split(";")[0] ?? expect.fail("it is signed in");
  const call = (path: string, method = "GET", body?: object): Promise<Response> =>
    fetch(`${url}/api/${path}`, {
      method,
      headers: { ...headers, cookie },
      ...(body && { body: JSON.stringify(body) }),
    });
  const json = async (path: string): Promise<unknown> => (await call(path)).json();
  const transport = new DefaultChatTransport<UIMessage>({ api: `${url}/api/chat`, headers: { cookie } });
  const ask = async (chatId: string, text: string, id: string = randomUUID()): Promise<readonly UIMessage[]> => {
    const messages: UIMessage[] = [{ id, role: "user", parts: [{ type: "text", text }] }];
    const submit = { trigger: "submit-message", messageId: undefined, abortSignal: undefined } as const;
    const stream = await transport.sendMessages({ chatId, messages, ...submit });
    const states: UIMessage[] = [];
    const failures: unknown[] = [];
    const onError = (error: unknown): void => void failures.push(error);
    for await (const message of readUIMessageStream({ stream, onError })) states.push(structuredClone(message));
    expect(failures).toEqual([]);
    return states;
  };
  return { call, json, ask };
}

test("a user gets a streamed document, a title, votes, a list of chats and a limit, and no other user sees them", async () => {
  const ada = await signedIn("Ada");
  const id = randomUUID();
  const states = await ada.ask(id, "Write about the sea.");
  const texts = states.flatMap(({ parts }) => {
    const part = parts.find(({ type }) => type === "data-document");
    return part !== undefined && "data" in part ? [(part.data as { text: string }).text] : []; // as the tool writes it
  });
  expect(new Set(texts).size).toBeGreaterThan(2);
  expect(texts.at(-1)).toBe(DOCUMENT);
  const answer = states.at(-1) ?? expect.fail("it was answered");
  const loaded = (await ada.json(`chat/${id}/messages`)) as { messages: UIMessage[] };
  expect(loaded.messages.at(-1)).toEqual(answer);

  const titles = async (): Promise<unknown> => ((await ada.json("threads")) as { title?: string }[])[0]?.title;
  await expect.poll(titles).toBe("A text of the sea");

  expect((await ada.call(`votes/${id}`, "POST", { messageId: answer.id, up: false })).status).toBe(204);
  expect((await ada.call(`votes/${id}`, "POST", { messageId: answer.id, up: true })).status).toBe(204);
  expect(await ada.json(`votes/${id}`)).toEqual({ [answer.id]: true });

  const eve = await signedIn("Eve");
  expect(await eve.json("threads")).toEqual([]);
  expect((await eve.call(`votes/${id}`)).status).toBe(404);
  expect((await eve.call(`chat/${id}/messages`)).status).toBe(403);
  expect((await eve.call(`threads/${id}`, "DELETE")).status).toBe(404);
  expect((await fetch(`${url}/api/threads`)).status).toBe(401);
  const forged = { headers: { cookie: "user=Ada.none" } };
  expect((await fetch(`${url}/api/threads`, forged)).status).toBe(401);

  await ada.ask(id, "Thanks.");
  await ada.ask(randomUUID(), "Thanks.");
  await expect(ada.ask(id, "Once more.")).rejects.toThrow("You have asked 3 times today");
  expect((await ada.call(`threads/${id}`, "DELETE")).status).toBe(204);
  expect((await ada.json("threads")) as unknown[]).toHaveLength(1);
});

test("a document that the provider cut is a failed call, and no whole document", async () => {
  provider.answer(({ body }) =>
    body["tools"] === undefined && JSON.stringify(body).includes('Write about the sea."')
      ? { text: ["The sea ", "is wide."], error: "mid_stream", after: 1 }
      : undefined,
  );
  const bob = await signedIn("Bob");
  const answer = (await bob.ask(randomUUID(), "Write about the sea.")).at(-1);
  const call = answer?.parts.find(({ type }) => type === "tool-writeDocument");
  expect(call).toMatchObject({ state: "output-error", errorText: "The tool failed." });
});

test("the server gives the page and its style", async () => {
  expect(await (await fetch(url)).text()).toContain('src="/page.js"');
  expect(await (await fetch(`${url}/page.css`)).text()).toContain(".app");
});
