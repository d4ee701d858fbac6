import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { Baseline } from "../log/baseline.ts";
import type { AgentPeer } from "../peers/agent/peer.ts";
import { ANSWER, entriesOf } from "./conversation.ts";

/** No agent: as many bare durable inserts as a request leaves entries, a transaction each. */
export async function baseline(): Promise<AgentPeer> {
  return {
    name: "baseline: bare durable inserts",
    packages: [],
    notes: [],
    async open(folder, { usesTool }) {
      const table = new Baseline(join(folder, "baseline.db"));
      const entries = entriesOf(usesTool);
      return {
        async begin(id) {
          let seq = 0;
          return {
            async ask(text) {
              for (let entry = 0; entry < entries; entry += 1) {
                const [role, content] = entry === 0 ? ["user", text] : ["assistant", ANSWER];
                table.insert(id, seq, { role, content });
                seq += 1;
                await turn();
              }
              return ANSWER;
            },
            end: async () => undefined,
          };
        },
        seen: 0,
        durability: async () => "journal_mode=wal synchronous=2",
        close: async () => table.close(),
      };
    },
  };
}
