// The API of the chat, for any server that has Request and Response.
import type { AgentHost, ThreadStore } from "heddle";
import { chatHandler } from "heddle/ai-sdk";
import { cookieOf, userOf } from "./users.ts";

declare module "heddle" {
  interface EntryKinds {
    vote: { readonly messageId: string; readonly up: boolean };
  }
}

const asksPerDay = Number(process.env["ASKS_PER_DAY"] ?? 50);

/** The routes: `session` signs in, `threads` lists and deletes, `votes` reads and votes, and all below `chat` is the chat. */
export function chatApi(host: AgentHost): (request: Request) => Promise<Response> {
  const { store } = host;
  const chat = chatHandler({
    host,
    authorize: (request) => {
      const owner = userOf(request);
      return owner === undefined ? false : { owner };
    },
    ask: () => ({ generateId: () => crypto.randomUUID() }),
    stream: { metadata: ({ endedAt }) => ({ endedAt }) },
  });
  return async (request) => {
    const [, , what, threadId = ""] = new URL(request.url).pathname.split("/");
    const route = `${request.method} ${what}`;
    if (route === "POST session") return signIn(request);
    const user = userOf(request);
    if (user === undefined) return refused(401, "signed_out", "Sign in first.");
    if (what === "chat") {
      const isAsk = request.method === "POST" && threadId === "";
      return isAsk && (await asksToday(store, user)) >= asksPerDay ? dayIsOver() : chat(request);
    }
    if (route === "GET threads") {
      const { threads } = await store.list({ owner: user, parent: null, limit: 50 });
      return Response.json(threads.map(({ id, title, updatedAt }) => ({ id, title, updatedAt })));
    }
    if (!(await isOf(store, user, threadId))) return refused(404, "not_found", "There is no such thread.");
    if (route === "DELETE threads") {
      await store.delete(threadId);
      return new Response(null, { status: 204 });
    }
    if (route === "GET votes") return Response.json(await votesIn(store, threadId));
    if (route === "POST votes") {
      const { messageId, up } = (await request.json()) as { messageId: unknown; up: unknown };
      const payload = { messageId: String(messageId), up: up === true };
      await store.append(threadId, { kind: "vote", payload }, { owner: user, create: false });
      return new Response(null, { status: 204 });
    }
    return refused(404, "not_found", "There is no such route.");
  };
}

async function signIn(request: Request): Promise<Response> {
  const { user } = (await request.json()) as { user: unknown };
  if (typeof user !== "string" || user.trim() === "") return refused(400, "no_name", "Give a name.");
  return new Response(null, { status: 204, headers: { "set-cookie": cookieOf(user.trim()) } });
}

async function asksToday(store: ThreadStore, owner: string): Promise<number> {
  const [today] = await store.usage({ owner, since: Date.now() });
  return today?.asks ?? 0;
}

async function isOf(store: ThreadStore, owner: string, threadId: string): Promise<boolean> {
  const { threads } = await store.list({ owner, prefix: threadId, order: "id", limit: 1 });
  return threads.some(({ id }) => id === threadId);
}

/** A vote is an entry of the thread: the last one of a message counts. */
async function votesIn(store: ThreadStore, threadId: string): Promise<{ [messageId: string]: boolean }> {
  const votes: { [messageId: string]: boolean } = {};
  for await (const entry of store.read(threadId, { kinds: ["vote"] })) {
    if (entry.kind === "vote") votes[entry.payload.messageId] = entry.payload.up;
  }
  return votes;
}

function dayIsOver(): Response {
  return refused(429, "limit_reached", `You have asked ${asksPerDay} times today. Come back tomorrow.`);
}

function refused(status: number, code: string, message: string): Response {
  return Response.json({ error: { code, message, retryable: false } }, { status });
}
