// A Durable Object for each thread, with an agent of the tests.
import { AgentHost } from "heddle";
import { type DurableContext, type DurableThreads, durableThreads } from "heddle/cloudflare";
import { planAgent } from "../../support/plan-agent.ts";

interface Env {
  /** Where runs of tools are noted. */
  readonly RUNS: string;
  readonly THREADS: { getByName(name: string): { fetch(request: Request): Promise<Response> } };
}

const threadOf = (request: Request): string => new URL(request.url).searchParams.get("thread") ?? "";

export class Thread {
  readonly #threads: DurableThreads<AgentHost>;

  constructor(ctx: DurableContext, { RUNS }: Env) {
    const record = async (body: string): Promise<void> => void (await fetch(RUNS, { method: "POST", body }));
    const agent = planAgent("ann", record);
    this.#threads = durableThreads(ctx, (options) => AgentHost.create({ ...options, agent }));
  }

  async fetch(request: Request): Promise<Response> {
    const { store, wake } = this.#threads;
    const threadId = threadOf(request);
    if (request.method === "POST") {
      const { id, plan } = (await request.json()) as { readonly id: string; readonly plan: string };
      await store.post(threadId, { id, type: "ask", content: `plan: ${plan}` });
      await wake(threadId);
      return new Response();
    }
    const thread = await store.load(threadId);
    if (thread === undefined) return Response.json({ ok: true, entries: [] });
    return Response.json({ ok: (await store.verify(threadId)).ok, entries: thread.toArray() });
  }

  alarm(): Promise<void> {
    return this.#threads.alarm();
  }
}

export default {
  fetch: (request: Request, { THREADS }: Env) => THREADS.getByName(threadOf(request)).fetch(request),
};
