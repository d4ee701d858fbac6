// The chat as a Hono API, with its page. Each process of it may serve each request.
import { readFile } from "node:fs/promises";
import { openStore } from "heddle";
import { Hono } from "hono";
import { chatHost } from "./chat/agent.ts";
import { chatApi } from "./chat/api.ts";

export const host = chatHost(await openStore(process.env["DATABASE_URL"] ?? "postgres://localhost/chat"));
const api = chatApi(host);

const page = `<!doctype html><html lang="en"><title>Chat</title><link rel="stylesheet" href="/page.css">
<div id="root"></div><script type="module" src="/page.js"></script></html>`;
const file = (path: string): Promise<Uint8Array<ArrayBuffer>> =>
  readFile(new URL(path, import.meta.url)) as Promise<Uint8Array<ArrayBuffer>>; // never shared memory

export const app = new Hono()
  .all("/api/*", ({ req }) => api(req.raw))
  .get("/page.js", async (context) =>
    context.body(await file("public/page.js"), 200, { "content-type": "text/javascript" }),
  )
  .get("/page.css", async (context) => context.body(await file("page.css"), 200, { "content-type": "text/css" }))
  .get("/", (context) => context.html(page));
