import { openCalls } from "../../agent/react/state.ts";
import type { Receipt } from "../../runtime/request/request.ts";
import type { AgentServer } from "../../runtime/server/agent-server.ts";
import { resultText } from "../../thread/message.ts";
import type { Random } from "../random.ts";
import { CLIENT_TOOLS, generatedPolicy } from "./generated-agent.ts";
import { CLAIM_TTL_MS, type SimulatedProcess } from "./simulated-process.ts";
import { hasEntry } from "./simulation-log.ts";
import { type SimulationState, THREAD_ID } from "./simulation-state.ts";
import { type PendingCalls, UserOperations } from "./user-calls.ts";

/** A simulated user who calls any method of an agent at any time. */
export class SimulatedUser {
  readonly #simulation: SimulationState;
  readonly #random: Random;
  readonly #pendingCalls: PendingCalls;
  readonly operations: UserOperations;
  /** The process that is being started. */
  #starting: SimulatedProcess | undefined;
  readonly #aborts: AbortController[] = [];

  constructor(simulation: SimulationState, random: Random, pendingCalls: PendingCalls) {
    this.#simulation = simulation;
    this.#random = random;
    this.#pendingCalls = pendingCalls;
    this.operations = new UserOperations(simulation, random, pendingCalls);
  }

  act(): void {
    const { current } = this.#simulation;
    const server = current?.server;
    if (current === undefined || server === undefined || !current.isAlive) this.start();
    else this.#actOn(current, server);
  }

  /** Starts a process, unless one is starting already. */
  start(): void {
    const simulation = this.#simulation;
    if (this.#starting?.isAlive || simulation.current?.isAlive) return;
    if (simulation.current !== undefined) simulation.forget(simulation.current);
    const process = simulation.process();
    this.#starting = process;
    const holder = this.#random.oneIn(2) ? "host" : undefined;
    const began = async (): Promise<AgentServer> => {
      try {
        return await process.start({ threadId: THREAD_ID, holder, claimWaitMs: 4 * CLAIM_TTL_MS });
      } finally {
        if (this.#starting === process) this.#starting = undefined;
        if (process.server === undefined && process.isAlive) simulation.forget(process);
      }
    };
    this.#pendingCalls.begin(process, "start", began, [], () => {
      simulation.current = process;
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
      [2, () => void server.setContextPolicy(generatedPolicy(random)).catch(() => undefined)],
      [5, () => this.#simulation.kill(process)],
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
    const takenAndLost = ["request_suspended", "request_failed"]; // these requests are in the log, and another process resumes or closes them
    this.#pendingCalls.begin(
      process,
      "ask",
      () => server.ask(content, options),
      [...refusals, ...takenAndLost],
      (request) => {
        this.#simulation.requests.follow(request, process);
        this.#simulation.acknowledged.add(`the ask of ${request.id}`, (log) =>
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
    this.#pendingCalls.begin(process, "steer", random.pick(ways), [], ({ id, accepted, receipt }) => {
      if (!accepted) return;
      this.#simulation.commands.add(id);
      this.#pendingCalls.begin(
        process,
        `steer ${id}`,
        () => receipt,
        [],
        (end) => this.#heard(end),
      );
    });
  }

  #heard(end: Receipt): void {
    if (!end.delivered) return;
    const { id, seq } = end;
    this.#simulation.acknowledged.add(`the steer ${id}`, ({ thread }) => thread.at(seq)?.refs.signalId === id);
  }

  /** Decides on a waiting call, in this or another process. Sometimes it decides on a call that is not waiting. */
  decide(process: SimulatedProcess, server: AgentServer): void {
    const random = this.#random;
    const { run } = this.#simulation.log.state;
    const [first, ...others] = run === undefined ? [] : openCalls(run);
    if (first === undefined) return;
    const { call, status } = random.pick([first, ...others]);
    const waits = status === "approval_requested" || CLIENT_TOOLS.has(call.name);
    if (!waits && !random.oneIn(4)) return;
    const isAnswer = CLIENT_TOOLS.has(call.name) && status === "open";
    const approved = !random.oneIn(3);
    const { id } = call;
    if (random.oneIn(5)) {
      const decision = isAnswer
        ? { toolCallId: id, output: resultText("yes").content }
        : { toolCallId: id, approved, by: "elsewhere" };
      this.#pendingCalls.begin(
        process,
        `decide ${id} elsewhere`,
        () => {
          this.#simulation.requests.expectForeignWrite();
          return process.decide(THREAD_ID, decision);
        },
        REFUSED,
      );
      return;
    }
    if (isAnswer) this.#pendingCalls.begin(process, `answer ${id}`, () => server.answer(id, { said: "yes" }), REFUSED);
    else if (approved)
      this.#pendingCalls.begin(process, `approve ${id}`, () => server.approve(id, { by: "ann" }), REFUSED);
    else this.#pendingCalls.begin(process, `deny ${id}`, () => server.deny(id, { reason: "not now" }), REFUSED);
  }

  #cancel(process: SimulatedProcess, server: AgentServer): void {
    this.#pendingCalls.begin(process, "cancel", () => server.cancel(), ["request_suspended"]);
  }

  #summarize(process: SimulatedProcess, server: AgentServer): void {
    this.#pendingCalls.begin(
      process,
      "summarize",
      () => server.summarize(),
      NOT_SUMMARIZED,
      ({ seq }) => {
        this.#simulation.acknowledged.add(`a summary at ${seq}`, ({ thread }) => thread.at(seq)?.kind === "summary");
      },
    );
  }

  #stop(process: SimulatedProcess, server: AgentServer): void {
    const graceMs = this.#random.pick([0, 500]);
    this.#pendingCalls.begin(
      process,
      "stop",
      () => server.stop({ graceMs }),
      [],
      () => this.#simulation.forget(process),
    );
    this.#simulation.current = undefined;
  }

  /** Lets another process try to claim the thread. */
  #rival(process: SimulatedProcess): void {
    const simulation = this.#simulation;
    const rival = simulation.process();
    const wasSound = process.store.writes.every(({ fault }) => fault === undefined);
    const start = async (): Promise<void> => {
      try {
        await rival.start({ threadId: THREAD_ID, claimWaitMs: 0 });
      } finally {
        if (rival.server === undefined && rival.isAlive) simulation.forget(rival);
      }
    };
    this.#pendingCalls.begin(rival, "start as a rival", start, ["thread_held"], () => {
      if (wasSound && process.isAlive && simulation.current === process) {
        simulation.journal.reportViolation(
          "of two processes one has the thread",
          `${rival.name} got it beside ${process.name}`,
        );
      }
      if (simulation.current === undefined) simulation.current = rival;
      else simulation.kill(rival);
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
