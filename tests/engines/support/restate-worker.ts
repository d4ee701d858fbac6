// A process that Restate calls. It dies when the test says so.
import { appendFileSync } from "node:fs";
import { serve } from "@restatedev/restate-sdk";
import { restateScheduler, restateThreads } from "../../../src/engines/restate-threads.ts";
import { AgentHost } from "../../../src/runtime/host/agent-host.ts";
import { sqliteStore } from "../../../src/stores/sqlite/sqlite-store.ts";
import { planAgent } from "../../support/plan-agent.ts";

const [port = "", url = "", file = "", runs = ""] = process.argv.slice(2);
const record = (line: string): void => appendFileSync(runs, `${line}\n`);
const host = AgentHost.create({
  agent: planAgent("ann", record),
  store: sqliteStore(file),
  scheduler: restateScheduler({ url }),
  holder: "worker", // the next process with this name takes the threads over at once
});
await serve({ services: [restateThreads(host)], port: Number(port) });
process.stdout.write("ready\n");
