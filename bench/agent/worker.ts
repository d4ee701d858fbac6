import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { PeerName } from "../peers/agent/peers.ts";
import type { AgentLap, LapJob } from "./lap.ts";

const SCRIPT = fileURLToPath(new URL("../peers/agent/worker.ts", import.meta.url));

export interface Facts {
  readonly name: string;
  readonly packages: readonly string[];
  readonly notes: readonly string[];
  readonly durability: string;
}

type Answer = { readonly facts: Facts } | { readonly lap: AgentLap } | { readonly trouble: string };

/** A project in a process of its own, which stays while others have their turn. */
export class Worker {
  readonly facts: Facts;
  readonly #child: ChildProcess;
  readonly #died: Promise<never>;

  private constructor(child: ChildProcess, died: Promise<never>, facts: Facts) {
    this.#child = child;
    this.#died = died;
    this.facts = facts;
  }

  static async start(peer: PeerName, folder: string, usesTool: boolean): Promise<Worker> {
    const child = fork(SCRIPT, [peer, folder, String(usesTool)], { stdio: ["ignore", "ignore", "pipe", "ipc"] });
    const died = deathOf(child);
    const answer = await answerOf(child, died);
    if (!("facts" in answer)) throw new Error(`${peer} did not say who it is.`);
    return new Worker(child, died, answer.facts);
  }

  async lap(job: LapJob): Promise<AgentLap> {
    this.#child.send(job);
    const answer = await answerOf(this.#child, this.#died);
    if ("lap" in answer) return answer.lap;
    throw new Error("trouble" in answer ? `${this.facts.name}: ${answer.trouble}` : "No lap was run.");
  }

  async stop(): Promise<void> {
    this.#child.send("stop");
    await this.#died.catch(() => undefined);
  }
}

async function answerOf(child: ChildProcess, died: Promise<never>): Promise<Answer> {
  const [answer] = (await Promise.race([once(child, "message"), died])) as [Answer];
  return answer;
}

/** Rejects with the output on stderr when the process ends. */
function deathOf(child: ChildProcess): Promise<never> {
  let said = "";
  child.stderr?.on("data", (text: unknown) => {
    said += String(text);
  });
  const died = once(child, "exit").then(() => Promise.reject(new Error(said || "The process ended.")));
  died.catch(() => undefined); // the worker always ends at some time
  return died;
}
