import { Model, Refusal } from "./model.ts";

/** The place of a lease among those that were started. */
type LeaseNumber = number;

/** One call on a database. Threads, nodes and commands have short names, so that calls meet. */
export type ScheduleCall =
  | { readonly type: "post"; readonly thread: string; readonly id: string; readonly agent: string | undefined }
  | { readonly type: "amend"; readonly thread: string; readonly id: string; readonly text: string }
  | { readonly type: "withdraw"; readonly thread: string; readonly id: string }
  | { readonly type: "delete"; readonly thread: string }
  | {
      readonly type: "append";
      readonly thread: string;
      /** The id of the only entry, which no other call has; undefined for an append without entries. */
      readonly entry: string | undefined;
      /** The current epoch, the one before, or none. */
      readonly epoch: number | undefined;
      /** The command to consume. */
      readonly consumes: string | undefined;
      /** The thread that gets a command, whose id no other call has. */
      readonly posts: { readonly thread: string; readonly id: string } | undefined;
      readonly next: ModelNext | null | undefined;
    }
  | {
      readonly type: "claim";
      readonly thread: string;
      readonly holder: string;
      readonly lease: LeaseNumber | undefined;
    }
  | { readonly type: "renew" | "release"; readonly thread: string; readonly epoch: number }
  | { readonly type: "start"; readonly node: string }
  | { readonly type: "renewLease" | "endLease"; readonly lease: LeaseNumber }
  | {
      readonly type: "take";
      readonly lease: LeaseNumber;
      readonly agents: readonly string[] | undefined;
      readonly limit: number;
      readonly perTenant: number | undefined;
    }
  | { readonly type: "wait"; readonly ms: number };

interface ModelNext {
  readonly agent?: string | undefined;
  readonly dueInMs?: number | undefined;
  readonly priority?: number | undefined;
  readonly waitsFor: readonly { readonly id: string; readonly revision: number }[];
}

interface ModelLease {
  readonly node: string;
  until: number;
  isEnded: boolean;
}

interface ModelClaim {
  readonly holder: string;
  readonly epoch: number;
  readonly until: number;
  readonly lease: LeaseNumber | undefined;
  readonly isReleased: boolean;
}

interface ModelRow {
  readonly agent: string | null;
  readonly dueAt: number | null;
  readonly priority: number;
}

/** How long leases and claims last. */
export const TTL_MS = 100;

/** Claims, leases and runnable threads as obviously as they can be held. Entries and commands are in the model of inboxes. */
export class ScheduleModel {
  readonly inboxes: Model = new Model();
  now = 1_000_000;
  readonly leases: ModelLease[] = [];
  readonly #claims = new Map<string, ModelClaim>();
  readonly #rows = new Map<string, ModelRow>();

  epochOf(thread: string): number {
    return this.#claims.get(thread)?.epoch ?? 0;
  }

  /** What the call returns. Throws a Refusal. */
  call(call: ScheduleCall): unknown {
    switch (call.type) {
      case "post": {
        const result = this.inboxes.call({ ...call, text: "" });
        if (!isReplay(result)) this.#wake(call.thread, call.agent);
        return result;
      }
      case "amend": {
        const result = this.inboxes.call(call);
        if (!isReplay(result)) this.#wake(call.thread, undefined);
        return result;
      }
      case "withdraw":
        return this.inboxes.call(call);
      case "delete":
        this.#rows.delete(call.thread);
        return this.inboxes.call(call);
      case "append":
        return this.#append(call);
      case "claim":
        return this.#claim(call.thread, call.holder, call.lease);
      case "renew":
        return this.#renew(call.thread, call.epoch);
      case "release":
        this.#claims.set(call.thread, { ...this.#held(call.thread, call.epoch), isReleased: true });
        return undefined;
      case "start":
        for (const lease of this.leases) if (lease.node === call.node) lease.isEnded = true;
        this.leases.push({ node: call.node, until: this.now + TTL_MS, isEnded: false });
        return this.now + TTL_MS;
      case "renewLease": {
        const lease = this.leases[call.lease];
        if (lease === undefined || lease.isEnded) throw new Refusal("lease_ended");
        lease.until = this.now + TTL_MS;
        return lease.until;
      }
      case "endLease": {
        const lease = this.leases[call.lease];
        if (lease !== undefined) lease.isEnded = true;
        return undefined;
      }
      case "take":
        return this.#take(call);
      case "wait":
        this.now += call.ms;
        return undefined;
    }
  }

  #append(call: Extract<ScheduleCall, { type: "append" }>): unknown {
    const { thread, entry, epoch, consumes, posts, next } = call;
    const id = consumes ?? "";
    const isDone = this.inboxes.inbox.get(`${thread} ${id}`)?.outcome?.status === "done";
    const rev = this.inboxes.entries.get(thread)?.length ?? 0;
    const writesNothing = entry === undefined && consumes === undefined && posts === undefined && next === undefined;
    if (writesNothing) return { rev, replayed: false };
    if (entry === undefined && isDone) return { rev, replayed: true };
    if (epoch !== undefined && epoch !== this.epochOf(thread)) throw new Refusal("stale_holder");
    const result = this.inboxes.call({
      type: "append",
      thread,
      entry,
      expectedRev: undefined,
      consumes: consumes === undefined ? [] : [{ id, status: "done" }],
      posts: posts === undefined ? [] : [{ ...posts, text: "" }],
    });
    if (posts !== undefined) this.#wake(posts.thread, undefined);
    if (next !== undefined) this.#setNext(thread, next);
    return result;
  }

  #wake(thread: string, agent: string | undefined): void {
    const row = this.#rows.get(thread);
    const dueAt = Math.min(row?.dueAt ?? this.now, this.now);
    this.#rows.set(thread, { agent: row?.agent ?? agent ?? null, dueAt, priority: row?.priority ?? 0 });
  }

  #setNext(thread: string, next: ModelNext | null): void {
    const row = this.#rows.get(thread);
    const mustRun = this.inboxes
      .pending(thread)
      .some(({ id, revision }) => !next?.waitsFor.some((seen) => seen.id === id && seen.revision === revision));
    const saidAt = next === null ? null : this.now + (next.dueInMs ?? 0);
    this.#rows.set(thread, {
      agent: next?.agent ?? row?.agent ?? null,
      dueAt: mustRun ? this.now : saidAt,
      priority: next?.priority ?? row?.priority ?? 0,
    });
  }

  #claim(thread: string, holder: string, lease: LeaseNumber | undefined): unknown {
    if (lease !== undefined && !this.#lasts(lease)) throw new Refusal("lease_ended");
    const current = this.#claims.get(thread);
    if (current !== undefined && this.#isHeld(current) && current.holder !== holder) throw new Refusal("thread_held");
    const before = current?.lease === undefined ? undefined : this.leases[current.lease];
    const isRestarted = current?.isReleased === false && current.holder === holder && current.lease !== lease;
    if (before !== undefined && (before.until <= this.now || isRestarted)) before.isEnded = true;
    const until = lease === undefined ? this.now + TTL_MS : (this.leases[lease]?.until ?? 0);
    return this.#grant(thread, { holder, until, lease });
  }

  #grant(thread: string, claim: Pick<ModelClaim, "holder" | "until" | "lease">): unknown {
    const epoch = this.epochOf(thread) + 1;
    this.#claims.set(thread, { ...claim, epoch, isReleased: false });
    return { epoch, until: claim.until };
  }

  #renew(thread: string, epoch: number): unknown {
    const claim = this.#held(thread, epoch);
    if (claim.isReleased) throw new Refusal("stale_holder");
    if (claim.lease === undefined) {
      const renewed = { ...claim, until: this.now + TTL_MS };
      this.#claims.set(thread, renewed);
      return { epoch, until: renewed.until };
    }
    if (!this.#lasts(claim.lease)) throw new Refusal("lease_ended");
    return { epoch, until: this.leases[claim.lease]?.until };
  }

  #held(thread: string, epoch: number): ModelClaim {
    const claim = this.#claims.get(thread);
    if (claim?.epoch !== epoch) throw new Refusal("stale_holder");
    return claim;
  }

  #take({ lease, agents, limit, perTenant }: Extract<ScheduleCall, { type: "take" }>): unknown {
    if (!this.#lasts(lease)) throw new Refusal("lease_ended");
    for (const other of this.leases) if (other.until <= this.now) other.isEnded = true;
    const held = [...this.#claims.values()].filter((claim) => claim.lease === lease && !claim.isReleased).length;
    const due = [...this.#rows].flatMap(([thread, { agent, dueAt, priority }]) => {
      const claim = this.#claims.get(thread);
      const isWanted = agents === undefined || (agent !== null && agents.includes(agent));
      const isFree = claim === undefined || !this.#isHeld(claim);
      return dueAt !== null && dueAt <= this.now && isWanted && isFree ? [{ thread, agent, dueAt, priority }] : [];
    });
    due.sort((a, b) => b.priority - a.priority || a.dueAt - b.dueAt || (a.thread < b.thread ? -1 : 1));
    const chosen = due.slice(0, Math.max(0, Math.min(limit, (perTenant ?? Number.POSITIVE_INFINITY) - held)));
    const { until = 0, node = "" } = this.leases[lease] ?? {};
    return chosen.map(({ thread, agent }) => {
      this.#grant(thread, { holder: node, until, lease });
      return { threadId: thread, epoch: this.epochOf(thread), ...(agent !== null && { agent }) };
    });
  }

  #isHeld(claim: ModelClaim): boolean {
    if (claim.isReleased) return false;
    return claim.lease === undefined ? claim.until > this.now : this.#lasts(claim.lease);
  }

  #lasts(number: LeaseNumber): boolean {
    const lease = this.leases[number];
    return lease !== undefined && !lease.isEnded && lease.until > this.now;
  }
}

function isReplay(result: unknown): boolean {
  return typeof result === "object" && result !== null && "replayed" in result && result.replayed === true;
}
