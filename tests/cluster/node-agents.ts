// The agents of a node of the cluster test.
import { appendFileSync } from "node:fs";
import { planAgent } from "../support/plan-agent.ts";

const runs = process.env["CLUSTER_RUNS"] ?? "";
const record = (line: string): void => appendFileSync(runs, `${line}\n`);

export const ann = planAgent("ann", record);
export const bob = planAgent("bob", record);

const offMs = Number(process.env["CLUSTER_OFF_MS"]);

/** A dead node is noticed soon. The clocks of the nodes differ. */
export const host = {
  leaseTtlMs: 2_000,
  holder: process.env["CLUSTER_HOLDER"],
  ports: { clock: () => Date.now() + offMs },
};
