/** Holds a thread until it is told to stop, and tells when the thread was released. Its argument is a HolderJob. */
import { writeSync } from "node:fs";
import { createInterface } from "node:readline";
import { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import { openAt } from "../../support/open-at.ts";
import { charging } from "./charging-agent.ts";

export interface HolderJob {
  readonly url: string;
  readonly tenant: string;
  readonly threadId: string;
}

const { url, tenant, threadId } = JSON.parse(process.argv[2] ?? "") as HolderJob;
const store = await openAt(url, { tenant });
const agent = charging(async () => "charged");
const server = await AgentServer.start({ agent, store, threadId, leaseTtlMs: 600_000, holder: "first" });
writeSync(1, "held\n");
for await (const _line of createInterface({ input: process.stdin })) break;
await server.stop();
writeSync(1, `${Date.now()}\n`); // released by now
await store.close();
process.exit();
