// A chat whose threads are Durable Objects. Change the model, then run `npx wrangler deploy`. See docs/engines.md.
import { AgentHost, defineAgent } from "heddle";
import { chatHandler } from "heddle/ai-sdk";
import { type DurableContext, durableThreads } from "heddle/cloudflare";
import { scriptedModel } from "heddle/testing";

interface Env {
  readonly THREADS: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
}

const agent = defineAgent({ model: scriptedModel(["It is 4."]) }); // your model here

/** The object of one thread. */
export class Thread {
  readonly #threads;
  readonly #chat;

  constructor(ctx: DurableContext) {
    this.#threads = durableThreads(ctx, (options) => AgentHost.create({ ...options, agent }));
    this.#chat = chatHandler({ host: this.#threads.host, authorize: () => ({ owner: "ada" }) }); // your users here
  }

  fetch(request: Request): Promise<Response> {
    return this.#chat(request);
  }

  alarm(): Promise<void> {
    return this.#threads.alarm();
  }
}

/** Sends each request to the object of its thread: `/api/chat` names it in the body, other routes in the path. */
export default {
  async fetch(request: Request, { THREADS }: Env): Promise<Response> {
    const inPath = /^\/api\/chat\/([^/]+)/.exec(new URL(request.url).pathname)?.[1];
    const { id = inPath } = inPath ? {} : ((await request.clone().json()) as { readonly id?: string });
    if (id === undefined) return new Response("The body names no thread.", { status: 400 });
    return THREADS.getByName(decodeURIComponent(id)).fetch(request);
  },
};
