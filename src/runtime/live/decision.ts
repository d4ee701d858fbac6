import type { Hold, Live, RequestState } from "./live.ts";
import type { Decision, Effect, LiveSignal } from "./signal.ts";

export function effects(decision: Decision, ...added: readonly Effect[]): Decision {
  return { ...decision, effects: [...decision.effects, ...added] };
}

export function update(decision: Decision, change: Partial<Live>): Decision {
  return { ...decision, live: { ...decision.live, ...change } };
}

export function updateRequest(decision: Decision, change: Partial<RequestState>): Decision {
  const { request } = decision.live;
  return request === undefined ? decision : update(decision, { request: { ...request, ...change } });
}

/** A new id for an effect. */
function withId(decision: Decision): readonly [decision: Decision, id: string] {
  const { nextId } = decision.live;
  return [update(decision, { nextId: nextId + 1 }), String(nextId)];
}

/** Starts an effect that other signals do not wait for. */
export function startWork(decision: Decision, effect: (id: string) => Effect): Decision {
  const [next, id] = withId(decision);
  return effects(update(next, { work: [...next.live.work, id] }), effect(id));
}

export function endWork(decision: Decision, id: string | undefined): Decision {
  const { work } = decision.live;
  const index = id === undefined ? -1 : work.indexOf(id);
  return index < 0 ? decision : update(decision, { work: work.toSpliced(index, 1) });
}

/** The request, unless it has ended here. */
export function currentRequest({ request }: Live): RequestState | undefined {
  return request?.phase === "running" || request?.phase === "waiting" ? request : undefined;
}

type HoldWithoutId = Hold extends infer One ? (One extends Hold ? Omit<One, "id"> : never) : never;

/** Other signals wait until the effect has answered. */
export function wait(decision: Decision, hold: HoldWithoutId, effect: (id: string) => Effect): Decision {
  const [next, id] = withId(decision);
  return effects(update(next, { hold: { ...hold, id } as Hold }), effect(id)); // Omit over a union, put back
}

/** Signals to decide before the waiting ones. */
export function followedBy(decision: Decision, ...signals: readonly LiveSignal[]): Decision {
  return effects(decision, ...signals.map((signal) => ({ type: "next", signal }) as const));
}
