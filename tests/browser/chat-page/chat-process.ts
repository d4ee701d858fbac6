// The server of a chat page. It prints its port, and ends on SIGTERM as a server in production does.
import { readFileSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { AgentHost, defineAgent } from "heddle";
import { chatHandler } from "heddle/ai-sdk";
import { postgresStore } from "heddle/postgres";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";

interface Options {
  /** A SQLite file, or the URL of a Postgres server. */
  readonly store: string;
  readonly tenant: string;
  /** The script of the page. */
  readonly script: string;
  /** 0 for any. */
  readonly port: number;
  readonly client: 6 | 7;
  /** A first process hangs after its only word. */
  readonly words: readonly string[];
}

const { store: place, tenant, script, port, client, words } = JSON.parse(process.argv[2] ?? "") as Options; // of the test
const model = scriptedModel([{ text: words, hang: words.length === 1 }]);
const store = place.startsWith("postgres:") ? postgresStore(place, { tenant }) : sqliteStore(place, { tenant });
// A killed process holds its threads until its lease has ended.
const host = AgentHost.create({ agent: defineAgent({ model }), store, leaseTtlMs: 1000, warn: () => undefined });
const chat = chatHandler({ host, authorize: () => true, stream: { client } });
const page = `<!doctype html><title>Chat</title><div id="root"></div><script type="module" src="/script.js"></script>`;

const server = createServer(
  getRequestListener((request) => {
    const { pathname } = new URL(request.url);
    if (pathname === "/page") return new Response(page, { headers: { "content-type": "text/html; charset=utf-8" } });
    if (pathname !== "/script.js") return chat(request);
    return new Response(readFileSync(script), { headers: { "content-type": "text/javascript; charset=utf-8" } });
  }),
);
server.listen(port, "127.0.0.1", () => writeSync(1, `${(server.address() as AddressInfo).port}\n`));

process.once("SIGTERM", async () => {
  await host.stop({ graceMs: 0 });
  await store.close();
  server.close();
  server.closeAllConnections();
});
