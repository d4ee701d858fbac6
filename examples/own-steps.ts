// Your own loop on a store: each step is durable before the next one, and another process resumes where the first one was killed.
import { generateText, jsonSchema, type LanguageModel, type ToolSet } from "ai";
import { entriesOfStep, memoryStore, openCalls, project, toolSpecsOf } from "heddle";
import { toModelPrompt } from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";

// Without `execute`: the loop runs the tool itself, when the call is durable.
const tools: ToolSet = { add: { description: "Adds", inputSchema: jsonSchema({ type: "object" }) } };
const specs = await toolSpecsOf(tools);
const store = memoryStore(); // for several processes a file or a database
const name = "anthropic:claude-sonnet-4";

async function run(threadId: string, model: LanguageModel, killed = false): Promise<string> {
  for (;;) {
    const thread = await store.load(threadId);
    if (thread === undefined) throw new Error("There is no such thread.");
    const open = openCalls(thread);
    const last = thread.toMessages({ format: "neutral" }).at(-1);
    if (last?.role === "assistant" && open.length === 0) return String(last.content); // it has ended before

    for (const { id, name, arguments: input, callId } of open) {
      console.log(`run ${name} ${JSON.stringify(input)}`);
      const { a, b } = input as { a: number; b: number }; // check it here: a model wrote it
      const result = { toolCallId: id, name, result: a + b };
      // Of two processes that ran it, one lands.
      await store.append(threadId, { id: `${callId}:result:${id}`, kind: "tool_result", payload: result });
    }
    if (open.length > 0) continue;

    const { messages, meta } = project({ thread, model: name, tools: specs, system: "Be brief." });
    const { response } = await generateText({ model, tools, ...toModelPrompt(messages) });
    const call = { callId: crypto.randomUUID(), model: name, fingerprint: meta.fingerprint };
    const entries = entriesOfStep(response.messages, { ...call, format: "model-messages" });
    await store.append(threadId, entries, { expectedRev: thread.rev }); // a conflict: another process answered
    if (killed) throw new Error("killed");
  }
}

await store.append("thread_1", { kind: "message", payload: { role: "user", content: "What's 2+2?" } });
const before = scriptedModel([{ calls: [{ name: "add", arguments: { a: 2, b: 2 } }] }]);
await run("thread_1", before, true).catch(({ message }: Error) => console.log(message));

const left = await store.load("thread_1");
console.log(`open: ${left && openCalls(left).map(({ name }) => name)}`);

const after = scriptedModel([{ expect: { lastUser: "What's 2+2?" }, text: "It is 4." }]);
console.log(await run("thread_1", after));
console.log(await run("thread_1", after)); // nothing is left to do
