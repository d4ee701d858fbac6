/**
 * Asks an agent that charges again and again, one call after the other, and tells its events. It is frozen in the middle.
 * Its argument is a FrozenJob.
 */
import { appendFileSync, writeSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { AgentServer } from "../../../src/runtime/server/agent-server.ts";
import { HeddleError } from "../../../src/thread/errors.ts";
import { openAt } from "../../support/open-at.ts";
import { charging } from "./charging-agent.ts";

export interface FrozenJob {
  readonly url: string;
  readonly tenant: string;
  readonly threadId: string;
  /** Where the tool leaves a line each time it starts. */
  readonly file: string;
  readonly leaseTtlMs: number;
}

const { url, tenant, threadId, file, leaseTtlMs } = JSON.parse(process.argv[2] ?? "") as FrozenJob;
const store = await openAt(url, { tenant });
let charges = 0;
const agent = charging(async () => {
  appendFileSync(file, "charge\n");
  tell({ charged: true });
  await sleep(++charges < 2 ? 150 : 3_000); // the second one is frozen, and not a write, which would lock a SQLite file
  return "charged";
});
const server = await AgentServer.start({ agent, store, threadId, leaseTtlMs, holder: "first", warn: () => undefined });
const request = await server.ask("Charge.");
for await (const { kind, data } of request.events()) tell({ event: kind, data });
const code = await request.result.then(
  () => "completed",
  (error: unknown) => (HeddleError.isInstance(error) ? error.code : String(error)),
);
await sleep(1_000); // time in which a tool that should not start would
const next = await server.ask("Again.").then(
  () => ({}),
  (error: unknown) => (HeddleError.isInstance(error) ? { code: error.code, holder: Reflect.get(error, "holder") } : {}),
);
tell({ result: code, next });
process.exit();

function tell(what: object): void {
  writeSync(1, `${JSON.stringify(what)}\n`);
}
