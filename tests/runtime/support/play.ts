import fc from "fast-check";
import type { AgentEvent, AgentRequest, AgentServer } from "heddle";
import { StoreError } from "heddle";
import { type Spied, spied } from "./spied-store.ts";
import { anything, eventsOf, type Stage, stage } from "./stage.ts";

/** One request of a play: what the model does in each call, and what its user does meanwhile. */
interface Act {
  /** Of each call of the model: how many tools it calls, or how it fails; the last one answers. */
  readonly rounds: readonly (number | "error" | "too_long")[];
  readonly meanwhile: readonly {
    readonly atMs: number;
    readonly what: "steer" | "follow_up" | "cancel" | "reset" | "summarize";
  }[];
  /** Tokens of the window. */
  readonly room: number;
}

export interface Play {
  readonly acts: readonly Act[];
  /** The numbers of the writes that fail, and whether only their acknowledgement is lost. */
  readonly troubles: readonly (readonly [number: number, after: boolean])[];
}

const act = fc.record<Act>({
  rounds: fc.array(
    fc.oneof(fc.integer({ min: 0, max: 4 }), fc.constantFrom<"error" | "too_long">("error", "too_long")),
    { maxLength: 3 },
  ),
  meanwhile: fc.array(
    fc.record({
      atMs: fc.integer({ min: 0, max: 60 }),
      what: fc.constantFrom("steer", "follow_up", "cancel", "reset", "summarize"),
    }),
    { maxLength: 3 },
  ),
  room: fc.integer({ min: 300, max: 3_000 }),
});

/** Plays in which the store works. */
export const quiet: fc.Arbitrary<Play> = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 4 }),
  troubles: fc.constant([]),
});
/** Plays in which some writes fail. */
export const troubled: fc.Arbitrary<Play> = fc.record({
  acts: fc.array(act, { minLength: 1, maxLength: 4 }),
  troubles: fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.boolean()), { maxLength: 6 }),
});

export interface Played {
  readonly on: Stage;
  /** What was written and what ran, in order. */
  readonly journal: readonly string[];
  readonly requests: readonly { readonly request: AgentRequest; readonly events: readonly AgentEvent[] }[];
}

/** Plays it to the end; what hangs is an error. */
export async function played({ acts, troubles }: Play): Promise<Played> {
  const spies: Spied[] = [];
  const on = await stage({
    around: (store) => {
      spies.push(spied(store));
      return spies[0]?.store ?? store;
    },
  });
  const [spy] = spies;
  if (spy === undefined) throw new Error("no spy");
  const { journal } = spy;
  spy.trouble = (_write, number) => {
    const hit = troubles.find(([at]) => at === number);
    return hit && { error: broken, after: hit[1] };
  };
  let rounds: Act["rounds"] = [];
  let calls = 0;
  const model = () => {
    const [now = 0, ...rest] = rounds;
    rounds = rest;
    journal.push("model");
    if (now === "error") return { error: { status: 400 }, delayMs: 5 };
    if (now === "too_long")
      return { error: { status: 400, message: "maximum context length is 100 tokens" }, delayMs: 5 };
    const list = Array.from({ length: now }, () => ({ name: "work", id: `call_${++calls}` }));
    return { text: `Said ${"so ".repeat(10)}`, calls: list, delayMs: 10 };
  };
  const work = {
    inputSchema: anything,
    execute: (_input: unknown, { toolCallId }: { toolCallId: string }) => {
      journal.push(`run ${toolCallId}`);
      return new Promise((resolve) => on.ports.after(7, () => resolve("x".repeat(100))));
    },
  };
  const script = Array.from({ length: 200 }, () => model as never);
  const summarizer = { summarize: async () => "It was so." };
  const server = await on.start({ script, tools: { work } as never, summarizer, maxIterations: 6 });
  const requests: Played["requests"][number][] = [];
  for (const [index, { rounds: wanted, meanwhile, room }] of acts.entries()) {
    rounds = wanted;
    const contextPolicy = { maxInputTokens: room + 200, reserveOutputTokens: 200, keepLastTurns: 1 };
    const request = await on.end(server.ask(`Ask ${index}?`, { contextPolicy })).catch(() => undefined);
    if (request === undefined) continue;
    for (const { atMs, what } of meanwhile) on.ports.after(atMs, () => void meddle(server, what));
    requests.push({ request, events: await on.end(eventsOf(request)) });
    await on.end(request.result.catch(() => undefined));
    await on.pass(100);
  }
  spy.trouble = () => undefined;
  await on.end(server.stop());
  return { on, journal, requests };
}

function broken(): StoreError {
  return new StoreError({ code: "store_failed", message: "The disk is on fire." });
}

async function meddle(server: AgentServer, what: Act["meanwhile"][number]["what"]): Promise<void> {
  try {
    if (what === "steer") await server.steer("Quick!");
    if (what === "follow_up") await server.followUp("And then?");
    if (what === "cancel") await server.cancel();
    if (what === "reset") await server.reset();
    if (what === "summarize") await server.summarize();
  } catch {
    // what cannot be done now is not done: the laws hold all the same
  }
}
