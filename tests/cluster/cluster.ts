// Three nodes on one Postgres, with users that post to any of them, and faults.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Entry, ThreadStore } from "heddle";
import { expect, onTestFinished } from "vitest";
import { Heddle } from "../cli/support/process.ts";
import { bundledScript } from "../support/bundled-script.ts";
import { freePort } from "../support/postgres/free-port.ts";
import { startProxy, type TcpProxy } from "../support/postgres/tcp-proxy.ts";
import type { Random } from "../support/seeded.ts";
import { fastFolder } from "../support/temp-folder.ts";
import { expectRunsOnce, expectWholeRequests, messageOf } from "../support/whole-requests.ts";
import type { Takeovers } from "./takeovers.ts";

const TOKEN = "a-token-of-the-tests";
const AGENTS = ["ann", "bob"] as const;
/** How long everything may take after the last fault, in milliseconds. Only a hang needs it. */
const HANG_MS = 120_000;

/** How far the clocks of the nodes are off, in milliseconds. */
const OFF_MS = [0, -3 * 3_600_000, 5 * 3_600_000];

interface NodeSettings {
  readonly tenant: string;
  readonly takeovers: Takeovers;
  readonly offMs: number;
}

/** A node has a port and a proxy to the database, which stay the same when its process dies. */
class Node {
  readonly #port: number;
  readonly #proxy: TcpProxy;
  readonly #folder: string;
  readonly #settings: NodeSettings;
  #starts = 1;
  process: Heddle;

  private constructor(port: number, proxy: TcpProxy, folder: string, settings: NodeSettings) {
    this.#port = port;
    this.#proxy = proxy;
    this.#folder = folder;
    this.#settings = settings;
    this.process = this.#spawn();
  }

  static async start(url: string, folder: string, settings: NodeSettings): Promise<Node> {
    const proxy = await startProxy(url);
    onTestFinished(() => proxy.stop());
    const node = new Node(await freePort(), proxy, folder, settings);
    await node.process.wrote(/"listening"/);
    return node;
  }

  get #holder(): string {
    return `node_${this.#port}_${this.#starts}`;
  }

  #spawn(): Heddle {
    const env = {
      HEDDLE_TOKEN: TOKEN,
      HEDDLE_STORE: this.#proxy.url,
      HEDDLE_TENANT: this.#settings.tenant,
      HEDDLE_PORT: String(this.#port),
      HEDDLE_DRAIN: "0",
      HEDDLE_CONCURRENCY: "500", // a thread that is left waits for no place
      HEDDLE_GRACE: "5",
      CLUSTER_RUNS: join(this.#folder, "runs"),
      CLUSTER_OFF_MS: String(this.#settings.offMs),
      CLUSTER_HOLDER: this.#holder,
    };
    return new Heddle(["serve", bundledScript(new URL("node-agents.ts", import.meta.url))], this.#folder, env);
  }

  cut(): void {
    this.#proxy.reset();
  }

  async restart(signal: "SIGKILL" | "SIGTERM"): Promise<number | null> {
    this.process.child.kill(signal);
    const { code } = await this.process.ended;
    if (signal === "SIGKILL") this.#settings.takeovers.died(this.#holder);
    this.#starts++;
    this.process = this.#spawn();
    await this.process.wrote(/"listening"/);
    return code;
  }

  async freeze(ms: number): Promise<void> {
    this.process.child.kill("SIGSTOP");
    await sleep(ms);
    this.process.child.kill("SIGCONT");
  }

  fetch(path: string, body?: object): Promise<Response> {
    return fetch(`http://127.0.0.1:${this.#port}${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json", connection: "close" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(HANG_MS),
    });
  }
}

export interface ClusterOptions {
  readonly url: string;
  readonly tenant: string;
  readonly takeovers: Takeovers;
  /** Reads the database directly. */
  readonly store: ThreadStore;
  readonly random: Random;
  readonly threads: number;
  readonly asksPerThread: number;
}

export class Cluster {
  readonly nodes: readonly Node[];
  readonly #options: ClusterOptions;
  readonly #runs: string;
  /** The ids of the messages that were answered, by thread. */
  readonly #posted = new Map<string, Set<string>>();
  /** Answers that tell a page not to try again. */
  readonly #refused: string[] = [];
  /** The threads of asks that wait for their time. */
  readonly #timed: string[] = [];
  #isOver = false;

  private constructor(options: ClusterOptions, nodes: readonly Node[], runs: string) {
    this.#options = options;
    this.nodes = nodes;
    this.#runs = runs;
  }

  static async start(options: ClusterOptions): Promise<Cluster> {
    await options.store.list({ limit: 1 }); // makes the tables
    const folder = fastFolder();
    const runs = join(folder, "runs");
    writeFileSync(runs, "");
    const { url, tenant, takeovers } = options;
    const nodes = await Promise.all(OFF_MS.map((offMs) => Node.start(url, folder, { tenant, takeovers, offMs })));
    return new Cluster(options, nodes, runs);
  }

  get #node(): Node {
    const [first, ...others] = this.nodes;
    return this.#options.random.pick([first as Node, ...others]); // there are three
  }

  /** All users talk, and all requests come to their end. */
  async talk(): Promise<void> {
    const { threads, random } = this.#options;
    const approving = this.#approve();
    const ids = random.list(threads, (index) => `${random.pick(AGENTS)}_${index}`);
    try {
      await this.#remind(Math.ceil(threads / 10));
      await Promise.all(ids.map((id) => this.#user(id)));
      const until = Date.now() + HANG_MS;
      for (let open = await this.#left(); open.length > 0; open = await this.#left()) {
        if (Date.now() > until) return expect.fail(`Not ended:\n${await this.#describe(open)}`);
        await sleep(50);
      }
    } finally {
      this.#isOver = true;
    }
    await approving;
  }

  /** Asks that wait for their time, which comes while the nodes die. */
  async #remind(count: number): Promise<void> {
    const { random, store } = this.#options;
    for (let index = 0; index < count; index++) {
      const agent = random.pick(AGENTS);
      const threadId = `${agent}_at_${index}`;
      const ask = { id: `${threadId}_ask`, type: "ask", content: "plan: charge", at: 1000 + random.below(5000) };
      await this.#retried(() => store.post(threadId, ask, { agent }));
      this.#timed.push(threadId);
    }
  }

  async #describe(threadIds: readonly string[]): Promise<string> {
    const { store } = this.#options;
    const texts = threadIds.map(async (id) => {
      const entries = (await store.load(id))?.toArray() ?? [];
      return `${id}, in its inbox ${JSON.stringify(await store.pending(id))}:\n${linesOf(entries.slice(-12))}`;
    });
    return (await Promise.all(texts)).join("\n");
  }

  async #open(): Promise<readonly string[]> {
    const { threads } = await this.#retried(() => this.#options.store.list({ limit: 1000 }));
    return threads.filter(({ status }) => status === "running" || status === "waiting").map(({ id }) => id);
  }

  /** The threads with an open request, and those whose ask waits for its time. */
  async #left(): Promise<readonly string[]> {
    const waits = async (id: string): Promise<readonly string[]> => {
      const rows = await this.#retried(() => this.#options.store.pending(id));
      return rows.length > 0 ? [id] : [];
    };
    return [...(await this.#open()), ...(await Promise.all(this.#timed.map(waits))).flat()];
  }

  /** Repeats a read while the database is down. */
  async #retried<Answer>(read: () => Promise<Answer>): Promise<Answer> {
    for (;;) {
      try {
        return await read();
      } catch (error) {
        if (this.#isOver) throw error;
        await sleep(50);
      }
    }
  }

  /** A person who approves whatever waits, at any node. */
  async #approve(): Promise<void> {
    const { random, store } = this.#options;
    while (!this.#isOver) {
      const { calls } = await this.#retried(() => store.waiting({ limit: 100 }));
      for (const { threadId, callId: toolCallId } of calls) {
        const path = `/api/chat/${threadId}/${random.oneIn(4) ? "deny" : "approve"}`;
        await this.#node.fetch(path, { toolCallId }).catch(() => undefined); // it is tried again while it waits
      }
      await sleep(20);
    }
  }

  async #user(threadId: string): Promise<void> {
    const { asksPerThread, random } = this.#options;
    for (let ask = 0; ask < asksPerThread; ask++) {
      const plan = random.list(random.below(4), () => random.pick(["note", "charge", "pay"]));
      const answered = this.#post(threadId, `${threadId}_${ask}`, `plan: ${plan.join(" ")}`);
      if (random.oneIn(3)) {
        await sleep(random.below(200));
        await this.#post(threadId, `${threadId}_${ask}_more`, "And another thing.");
      }
      if (random.oneIn(6)) {
        await sleep(random.below(200));
        await this.#node.fetch(`/api/chat/${threadId}/stop`, {}).catch(() => undefined); // nobody waits for it
      }
      await answered;
    }
  }

  /** Posts until a node has answered, as a page does. */
  async #post(threadId: string, messageId: string, text: string): Promise<void> {
    const messages = [{ id: messageId, role: "user", parts: [{ type: "text", text }] }];
    const [agent] = threadId.split("_");
    while (!this.#isOver) {
      try {
        const response = await this.#node.fetch("/api/chat", { id: threadId, agent, messages });
        const body = await response.text();
        if (response.ok) this.#posted.set(threadId, (this.#posted.get(threadId) ?? new Set()).add(messageId));
        if (response.ok && /"type":"(finish|abort|error)"/.test(body)) return;
        if (response.ok && !(await this.#open()).includes(threadId)) return; // its process died, and another one resumed it
        const mayRetry = response.ok || response.status === 503 || body.includes('"retryable":true');
        if (!mayRetry) this.#refused.push(`${messageId}: ${response.status} ${body}`);
      } catch {
        // The node died, or the database is down.
      }
      await sleep(50);
    }
  }

  /** Everything that must hold, in the end. */
  async check(): Promise<{ readonly requests: number; readonly runs: number }> {
    const { store } = this.#options;
    expect(this.#refused).toEqual([]);
    const { threads } = await store.list({ limit: 1000 });
    const runs = readFileSync(this.#runs, "utf8").trim().split("\n");
    expectRunsOnce(runs);
    for (const id of this.#timed) {
      const asks = (await store.load(id))?.toArray().filter(({ payload }) => "agent" in payload) ?? [];
      expect(asks.length, `asks at a time in ${id}`).toBe(1);
    }
    let requests = 0;
    for (const { id } of threads) {
      expect((await store.verify(id)).ok, id).toBe(true);
      const entries = (await store.load(id))?.toArray() ?? [];
      requests += expectWholeRequests(id, entries);
      const said = entries.map(messageOf).filter(({ role }) => role === "assistant");
      const [agent] = id.split("_");
      for (const { content } of said) {
        const text = JSON.stringify(content);
        if (text.includes("I am")) expect(text, id).toContain(`I am ${agent},`);
      }
      const taken = entries.flatMap((entry) => {
        const { refs, kind } = entry;
        const { role, steer } = messageOf(entry);
        if (kind === "approval_resolved") return refs["replyId"] ?? []; // a message that denies a call
        if (role !== "user") return [];
        return (steer === undefined ? refs["messageId"] : refs["signalId"]) ?? [];
      });
      for (const messageId of this.#posted.get(id) ?? []) {
        const outcome = await Promise.race([store.outcome(id, messageId).catch(() => undefined), sleep(500)]);
        if (outcome?.status === "dropped" && outcome["reason"] === "cancelled") continue; // with its request
        const found = taken.filter((known) => known === messageId).length;
        expect(
          found,
          `${messageId} in the log of ${id}, outcome ${JSON.stringify(outcome)}:\n${linesOf(entries)}`,
        ).toBe(1);
      }
    }
    return { requests, runs: runs.length };
  }
}

function linesOf(entries: readonly Entry[]): string {
  return entries
    .map(({ seq, kind, payload, refs }) => JSON.stringify({ seq, kind, refs, payload }).slice(0, 300))
    .join("\n");
}
