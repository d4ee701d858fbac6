// A Durable Object whose threads are advanced by the test.
import { type Advanced, type DurableContext, type DurableThreads, durableThreads } from "heddle/cloudflare";
import { toObject } from "../../support/workerd/to-object.ts";

interface Env {
  readonly TEST: { fetch(url: string): Promise<Response> };
}

export class Thread {
  readonly #threads: DurableThreads<object>;

  constructor(ctx: DurableContext, env: Env) {
    this.#threads = durableThreads(ctx, () => ({
      async advance(threadId) {
        const response = await env.TEST.fetch(`http://test/?thread=${encodeURIComponent(threadId)}`);
        if (!response.ok) throw new Error(await response.text());
        return (await response.json()) as Advanced;
      },
    }));
  }

  async fetch(request: Request): Promise<Response> {
    const { searchParams } = new URL(request.url);
    await this.#threads.wake(searchParams.get("thread") ?? "", Number(searchParams.get("at")));
    return new Response();
  }

  alarm(): Promise<void> {
    return this.#threads.alarm();
  }
}

export default { fetch: toObject("engine") };
