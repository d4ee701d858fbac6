// A lead that asks two agents at once. One of them waits for an approval, which the lead's thread lists. The models are
// scripted, so this needs no API key; put any AI SDK model in their place.
import { AgentHost, agentTool, defineAgent, defineTool, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";

const book = defineTool({
  description: "Books a train",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => "seat 12",
});
const weather = defineAgent({ name: "weather", model: scriptedModel(["Sun in Rome."]) });
const travel = defineAgent({
  name: "travel",
  model: scriptedModel([{ calls: [{ id: "call_book", name: "book" }] }, "You have seat 12."]),
  tools: { book },
});
const lead = defineAgent({
  name: "lead",
  model: scriptedModel([
    {
      calls: [
        { name: "weather", arguments: { task: "How is the weather in Rome?" } },
        { name: "travel", arguments: { task: "Book a train to Rome." } },
      ],
    },
    "Sun in Rome, and you have seat 12.",
  ]),
  tools: {
    weather: agentTool(weather, { description: "Knows the weather" }),
    travel: agentTool(travel, { description: "Books journeys" }),
  },
});

const store = memoryStore();
const host = AgentHost.create({ agent: lead, store });
const request = await host.ask("thread_1", "I want to go to Rome.");

/** Resolves when a call of the thread, or of its children, waits. */
async function nextWaiting() {
  for (;;) {
    const [call] = await host.waiting("thread_1");
    if (call !== undefined) return call;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const { name, toolCallId, threadId = "thread_1" } = await nextWaiting();
console.log(`${name} waits in ${threadId === "thread_1" ? "the thread" : "the thread of a child"}`);
await host.approve(threadId, toolCallId, { by: "Grace" });

const { text, calls } = await request.result;
console.log(text);
const { usage } = await host.usage("thread_1");
console.log(`the lead made ${calls.length} model calls; with its agents it used ${usage.outputTokens} output tokens`);
const { threads } = await store.list({ parent: "thread_1" });
console.log(`${threads.length} threads of children: ${threads.map(({ status }) => status).join(", ")}`);
await host.stop();
