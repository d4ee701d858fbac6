// A function that lives for seconds: each post is answered once, however often it comes and whichever instance gets it.
import { AgentHost, defineAgent, HeddleError, memoryStore, type ProviderModel } from "heddle";
import { scriptedModel } from "heddle/testing";

const store = memoryStore(); // in production postgresStore(url, { maxConnections: 3 }), one for each instance

interface Post {
  readonly thread: string;
  readonly id: string;
  readonly text: string;
}

/** One invocation. The platform kills it after 30 s, so the request has 20 s, and the claim ends soon after a kill. */
async function handle(post: Post, model: ProviderModel, isKilled = false): Promise<string> {
  const agent = defineAgent({ model, totalTimeoutMs: 20_000 });
  const host = AgentHost.create({ agent, store, leaseTtlMs: 5_000, claimWaitMs: 500 });
  try {
    const request = await host.ask(post.thread, post.text, { requestId: post.id });
    if (isKilled) return "killed";
    return `200 ${(await request.result).text}`;
  } catch (error) {
    // Another instance answers this thread. The browser asks again with the same id, and gets that answer.
    if (HeddleError.isInstance(error) && error.code === "thread_held") return "202 another instance answers";
    throw error;
  } finally {
    await host.stop({ graceMs: 0 }); // gives the claim back
  }
}

const post = { thread: "thread_1", id: "message_1", text: "What's 2+2?" };
const once = scriptedModel(["It is 4."]);
console.log(await handle(post, once));
console.log(await handle(post, once)); // sent again, as after a lost answer
console.log(`the model was asked ${once.requests.length} time`);

const later = { ...post, id: "message_2", text: "And 3+3?" };
console.log(await handle(later, scriptedModel([{ hang: true }]), true));
console.log(await handle(later, scriptedModel(["It is 6."]))); // the next instance resumes the request

const busy = await store.claim("thread_1", { holder: "instance-7", ttlMs: 60_000 });
console.log(await handle({ ...post, id: "message_3" }, once));
await store.release("thread_1", busy.epoch);
