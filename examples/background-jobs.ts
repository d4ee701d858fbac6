// Jobs that outlive the web request that began them, and the process that runs them.
import { AgentHost, defineAgent, defineTool, memoryStore, type ProviderModel } from "heddle";
import { scriptedModel } from "heddle/testing";

const store = memoryStore(); // in production, a store that all processes share

const crawl = defineTool({
  description: "Reads a page",
  inputSchema: { type: "object" },
  repeatable: true, // after a kill it may run again
  timeoutMs: 300_000,
  execute: () => "a page about looms",
});
const worker = (model: ProviderModel) =>
  AgentHost.create({ agent: defineAgent({ name: "report", model, tools: { crawl }, maxAttempts: 3 }), store });

/** The id of a job is its thread and its request: to enqueue it twice is to enqueue it once. */
async function enqueue(host: AgentHost, job: string, text: string): Promise<string> {
  await host.ask(job, text, { requestId: job }); // durable now, and running
  return "202 accepted";
}

/** For any process: the log says how a job stands. */
async function statusOf(job: string): Promise<string> {
  const thread = await store.load(job);
  const said = thread?.toMessages({ format: "neutral" }).at(-1);
  const status = String(thread?.metadata["status"]);
  return status === "completed" ? `${status}: ${said?.["content"]}` : status;
}

const first = worker(scriptedModel([{ calls: [{ name: "crawl" }] }, { hang: true }]));
console.log(await enqueue(first, "job_1", "A report on looms."));
console.log(await enqueue(first, "job_1", "A report on looms."));
console.log(await statusOf("job_1"));
await first.stop({ graceMs: 0 }); // a deploy

const second = worker(scriptedModel(["Looms, in short."]));
second.work({ concurrency: 4 }); // takes every job that no living process has
await second.result("job_1", "job_1");
console.log(await statusOf("job_1"));
await second.stop();
