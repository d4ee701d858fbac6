// The thread is held at first. Then it stays claimed for an approval that never comes.
import { generateText, jsonSchema, tool } from "ai";
import { memoryStore } from "heddle";
import { threadLoop } from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";

const store = memoryStore();
await store.claim("thread_1", { holder: "a dead process", ttlMs: 300 });
const loop = threadLoop({ store, threadId: "thread_1", claimWaitMs: Number.POSITIVE_INFINITY, idleMs: 3_600_000 });
const pay = tool({ inputSchema: jsonSchema({ type: "object" }), needsApproval: true, execute: () => "" });
const model = scriptedModel([{ calls: [{ name: "pay" }] }]);
const { finishReason } = await generateText({ model: loop.model(model), tools: { pay }, prompt: "Pay." });
console.log(finishReason);
