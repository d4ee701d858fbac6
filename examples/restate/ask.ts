// Posts a question, from any process: `node ask.ts thread_1 "What's 2+2?"`. A worker answers it. See docs/engines.md.
import { openStore } from "heddle";
import { restateScheduler } from "heddle/restate";

const { RESTATE_URL = "http://127.0.0.1:8080", STORE = "sqlite:./threads.db" } = process.env;
const [threadId = "thread_1", content = "What's 2+2?"] = process.argv.slice(2);

const store = await openStore(STORE);
const scheduler = restateScheduler({ url: RESTATE_URL });
await store.post(threadId, { id: `req_${Date.now()}`, type: "ask", content }, { agent: "helper" });
await scheduler.wake(threadId);
for await (const { kind, payload } of store.watch(threadId, { fromSeq: 0 })) {
  if (kind === "ai_message") console.log(JSON.stringify(payload));
  if ("end" in payload) break;
}
await store.close();
