import { openCalls } from "../../agent/react/run.ts";
import type { AgentServer } from "../../runtime/agent-server.ts";
import { resultText } from "../../thread/results.ts";
import type { Random } from "../random.ts";
import { hasEntry } from "./acknowledged.ts";
import { generatedPolicy } from "./agent.ts";
import { Operations } from "./operations.ts";
import type { Asked } from "./outcome.ts";
import { CLAIM_TTL_MS, type SimulatedProcess } from "./process.ts";
import { CLIENT } from "./tools.ts";
import { type SimulatedWorld, THREAD } from "./world.ts";

/** A simulated user who calls any method of an agent at any time. */
export class SimulatedUser {
  readonly #world: SimulatedWorld;
  readonly #random: Random;
  readonly #asked: Asked;
  readonly operations: Operations;
  /** The process that is being started. */
  #starting: SimulatedProcess | undefined;
  readonly #aborts: AbortController[] = [];

  constructor(world: SimulatedWorld, random: Random, asked: Asked) {
    this.#world = world;
    this.#random = random;
    this.#asked = asked;
    this.operations = new Operations(world, random, asked);
  }

  act(): void {
    const { current } = this.#world;
    const server = current?.server;
    if (current === undefined || server === undefined || !current.isAlive) this.start();
    else this.#actOn(current, server);
  }

  /** Starts a process, unless one is starting already. */
  start(): void {
    const world = this.#world;
    if (this.#starting?.isAlive || world.current?.isAlive) return;
    if (world.current !== undefined) world.forget(world.current);
    const process = world.process();
    this.#starting = process;
    const holder = this.#random.oneIn(2) ? "host" : undefined;
    const began = async (): Promise<AgentServer> => {
      try {
        return await process.start({ threadId: THREAD, holder, claimWaitMs: 4 * CLAIM_TTL_MS });
      } finally {
        if (this.#starting === process) this.#starting = undefined;
        if (process.server === undefined && process.isAlive) world.forget(process);
      }
    };
    this.#asked.begin(process, "start", began, [], () => {
      world.current = process;
    });
  }

  #actOn(process: SimulatedProcess, server: AgentServer): void {
    const random = this.#random;
    const actions: readonly [Weighted, ...Weighted[]] = [
      [20, () => this.#ask(process, server)],
      [10, () => this.#speak(process, server)],
      [16, () => this.decide(process, server)],
      [4, () => this.#cancel(process, server)],
      [8, () => this.operations.begin(process, server)],
      [3, () => this.#summarize(process, server)],
      [2, () => void server.setContextPolicy(generatedPolicy(random))],
      [5, () => this.#world.kill(process)],
      [3, () => this.#stop(process, server)],
      [3, () => this.#rival(process)],
      [2, () => this.#aborts.pop()?.abort()],
    ];
    let left = random.below(actions.reduce((sum, [weight]) => sum + weight, 0));
    for (const [weight, act] of actions) {
      left -= weight;
      if (left >= 0) continue;
      act();
      return;
    }
  }

  #ask(process: SimulatedProcess, server: AgentServer): void {
    const random = this.#random;
    const { signal } = random.oneIn(5) ? this.#abort() : {};
    const options = {
      ...(random.oneIn(4) && { contextPolicy: generatedPolicy(random) }),
      ...(random.oneIn(6) && { allowedTools: [random.pick(["look", "pay", "nothing"])] }),
      ...(random.oneIn(6) && { maxIterations: 1 + random.below(3) }),
      ...(signal && { signal }),
    };
    const content = random.pick(["What's 2+2?", "Pay the bill.", "  ", "Tell me all of it. ".repeat(60)]);
    const refusals = ["busy", "empty_ask", "unknown_tool", "pending_overflow", "budget_overflow", "request_cancelled"];
    const takenAndLost = ["request_suspended", "request_failed"]; // in the log, where another process resumes or closes it
    this.#asked.begin(
      process,
      "ask",
      () => server.ask(content, options),
      [...refusals, ...takenAndLost],
      (request) => {
        this.#world.requests.follow(request, process);
        this.#world.acknowledged.told(`the ask of ${request.id}`, (log) =>
          hasEntry(
            log,
            ({ refs, payload }) => refs.requestId === request.id && Reflect.get(payload, "content") === content,
          ),
        );
      },
    );
  }

  #abort(): AbortController {
    const controller = new AbortController();
    this.#aborts.push(controller);
    return controller;
  }

  #speak(process: SimulatedProcess, server: AgentServer): void {
    const random = this.#random;
    const content = random.pick(["And tomorrow?", " faster ", ""]);
    const ways = [
      () => server.steer(content),
      () => server.followUp(content),
      () => server.inject(content, { source: "monitor" }),
    ] as const;
    const { id, accepted, receipt } = random.pick(ways)();
    if (!accepted) return;
    this.#asked.begin(
      process,
      `steer ${id}`,
      () => receipt,
      [],
      (told) => {
        if (!told.delivered) return;
        this.#world.acknowledged.told(`the steer ${id}`, ({ thread }) => thread.at(told.seq)?.refs.signalId === id);
      },
    );
  }

  /** Answers a waiting call, here or through another process; sometimes a call that is not waiting. */
  decide(process: SimulatedProcess, server: AgentServer): void {
    const random = this.#random;
    const { run } = this.#world.log.state;
    const [first, ...others] = run === undefined ? [] : openCalls(run);
    if (first === undefined) return;
    const { call, status } = random.pick([first, ...others]);
    const waits = status === "approval_requested" || CLIENT.has(call.name);
    if (!waits && !random.oneIn(4)) return;
    const isAnswer = CLIENT.has(call.name) && status === "open";
    const approved = !random.oneIn(3);
    const { id } = call;
    if (random.oneIn(5)) {
      const decision = isAnswer
        ? { toolCallId: id, outcome: resultText("yes") }
        : { toolCallId: id, approved, by: "elsewhere" };
      this.#asked.begin(
        process,
        `decide ${id} elsewhere`,
        () => {
          this.#world.requests.blur();
          return process.decide(THREAD, decision);
        },
        REFUSED,
      );
      return;
    }
    if (isAnswer) this.#asked.begin(process, `answer ${id}`, () => server.answer(id, { said: "yes" }), REFUSED);
    else if (approved) this.#asked.begin(process, `approve ${id}`, () => server.approve(id, { by: "ann" }), REFUSED);
    else this.#asked.begin(process, `deny ${id}`, () => server.deny(id, { note: "not now" }), REFUSED);
  }

  #cancel(process: SimulatedProcess, server: AgentServer): void {
    this.#asked.begin(process, "cancel", () => server.cancel(), []);
  }

  #summarize(process: SimulatedProcess, server: AgentServer): void {
    this.#asked.begin(
      process,
      "summarize",
      () => server.summarize(),
      NOT_SUMMARIZED,
      ({ seq }) => {
        this.#world.acknowledged.told(`a summary at ${seq}`, ({ thread }) => thread.at(seq)?.kind === "summary");
      },
    );
  }

  #stop(process: SimulatedProcess, server: AgentServer): void {
    const graceMs = this.#random.pick([0, 500]);
    this.#asked.begin(
      process,
      "stop",
      () => server.stop({ graceMs }),
      [],
      () => this.#world.forget(process),
    );
    this.#world.current = undefined;
  }

  /** Another process tries to claim the thread. */
  #rival(process: SimulatedProcess): void {
    const world = this.#world;
    const rival = world.process();
    const wasSound = process.store.writes.every(({ fault }) => fault === undefined);
    const start = async (): Promise<void> => {
      try {
        await rival.start({ threadId: THREAD, claimWaitMs: 0 });
      } finally {
        if (rival.server === undefined && rival.isAlive) world.forget(rival);
      }
    };
    this.#asked.begin(rival, "start as a rival", start, ["thread_held"], () => {
      if (wasSound && process.isAlive && world.current === process) {
        world.journal.broken("of two processes one has the thread", `${rival.name} got it beside ${process.name}`);
      }
      if (world.current === undefined) world.current = rival;
      else world.kill(rival);
    });
  }
}

type Weighted = readonly [weight: number, act: () => void];

const REFUSED = ["not_waiting"];
const NOT_SUMMARIZED = ["nothing_to_summarize", "summary_not_accepted", "invalid_input", "budget_overflow"].concat(
  [
    "context_too_long",
    "auth",
    "unavailable",
    "rate_limited",
    "overloaded",
    "stream_idle",
    "answer_timeout",
    "aborted",
    "error",
    "refused",
  ].map((what) => `model_${what}`),
);
