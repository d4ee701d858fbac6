import type { AppendResult, CommandOutcome, CommandResult } from "heddle/store";

/** One call on a store. Threads, commands and texts have short names, so that calls meet. */
export type Call =
  | { readonly type: "post"; readonly thread: string; readonly id: string; readonly text: string }
  | { readonly type: "amend"; readonly thread: string; readonly id: string; readonly text: string }
  | { readonly type: "withdraw"; readonly thread: string; readonly id: string }
  | { readonly type: "delete"; readonly thread: string }
  | {
      readonly type: "append";
      readonly thread: string;
      /** The id of the only entry; undefined for an append without entries. */
      readonly entry: string | undefined;
      readonly expectedRev: number | undefined;
      readonly consumes: readonly { readonly id: string; readonly status: string; readonly revision?: number }[];
      readonly posts: readonly { readonly thread: string; readonly id: string; readonly text: string }[];
    };

interface ModelCommand {
  readonly posted: string;
  readonly text: string;
  readonly revision: number;
  readonly outcome: CommandOutcome | undefined;
}

/** The refusal of a call, with the code of the store's error. */
export class Refusal extends Error {
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.code = code;
  }
}

/** The data of a store as obviously as it can be held. A call works on a copy, which replaces this when it is not refused. */
export class Model {
  /** Entry ids by thread. */
  entries: Map<string, readonly string[]> = new Map();
  /** By thread and command id, in the order of the posts. */
  inbox: Map<string, ModelCommand> = new Map();

  /** What the call returns. Throws a Refusal. */
  call(call: Call): unknown {
    const copy = new Model();
    copy.entries = new Map(this.entries);
    copy.inbox = new Map(this.inbox);
    const result = copy.#perform(call);
    this.entries = copy.entries;
    this.inbox = copy.inbox;
    return result;
  }

  pending(thread: string): readonly { readonly id: string; readonly text: string; readonly revision: number }[] {
    return [...this.inbox]
      .filter(([name, { outcome }]) => name.startsWith(`${thread} `) && outcome === undefined)
      .map(([name, { text, revision }]) => ({ id: name.slice(thread.length + 1), text, revision }));
  }

  #perform(call: Call): CommandResult | boolean | Omit<AppendResult, "entries"> {
    switch (call.type) {
      case "post":
        return this.#post(call.thread, call.id, call.text);
      case "amend": {
        const command = this.#pending(call.thread, call.id);
        if (command.text === call.text) return { replayed: true };
        this.#put(call.thread, call.id, { ...command, text: call.text, revision: command.revision + 1 });
        return { replayed: false };
      }
      case "withdraw": {
        const outcome = { status: "withdrawn" };
        if (this.#find(call.thread, call.id)?.outcome?.status === "withdrawn") return { replayed: true, outcome };
        this.#put(call.thread, call.id, { ...this.#pending(call.thread, call.id), outcome });
        return { replayed: false, outcome };
      }
      case "delete":
        for (const name of [...this.inbox.keys()]) if (name.startsWith(`${call.thread} `)) this.inbox.delete(name);
        return this.entries.delete(call.thread);
      case "append":
        return this.#append(call);
    }
  }

  #append(call: Extract<Call, { type: "append" }>): Omit<AppendResult, "entries"> {
    const { thread, entry, expectedRev, consumes, posts } = call;
    const known = this.entries.get(thread) ?? [];
    const rev = known.length;
    const isDone = ({ id, status }: { id: string; status: string }) =>
      this.#find(thread, id)?.outcome?.status === status;
    if (entry !== undefined && known.includes(entry)) {
      for (const { id, status } of consumes) {
        if (this.#find(thread, id) === undefined || isDone({ id, status })) continue;
        this.#put(thread, id, { ...this.#pending(thread, id), outcome: { status } });
      }
      return { rev: known.indexOf(entry) + 1, replayed: true };
    }
    if (entry === undefined) {
      if (consumes.length + posts.length === 0) return { rev, replayed: false };
      if (consumes.length > 0 && consumes.every(isDone)) return { rev, replayed: true };
      if (consumes.length === 0) {
        const before = this.inbox;
        this.inbox = new Map(before);
        const isReplay = posts.every(({ thread: to, id, text }) => this.#post(to, id, text).replayed);
        this.inbox = before;
        if (isReplay) return { rev, replayed: true };
      }
    }
    if (expectedRev !== undefined && expectedRev !== rev) throw new Refusal("conflict");
    for (const { id, status, revision } of consumes) {
      if (entry === undefined && isDone({ id, status })) continue;
      const command = this.#pending(thread, id);
      if (revision !== undefined && revision !== command.revision) throw new Refusal("command_amended");
      this.#put(thread, id, { ...command, outcome: { status } });
    }
    for (const { thread: to, id, text } of posts) this.#post(to, id, text);
    if (entry !== undefined) this.entries.set(thread, [...known, entry]);
    return { rev: rev + (entry === undefined ? 0 : 1), replayed: false };
  }

  #post(thread: string, id: string, text: string): CommandResult {
    const command = this.#find(thread, id);
    if (command === undefined) {
      const outcome = this.#logged(thread, id);
      if (outcome !== undefined) return { replayed: true, outcome };
      this.#put(thread, id, { posted: text, text, revision: 0, outcome: undefined });
      return { replayed: false };
    }
    if (command.posted !== text) throw new Refusal("command_id_reused");
    return { replayed: true, ...(command.outcome && { outcome: command.outcome }) };
  }

  #pending(thread: string, id: string): ModelCommand {
    const command = this.#find(thread, id);
    if (command?.outcome !== undefined) throw new Refusal("command_settled");
    if (command === undefined) throw new Refusal(this.#logged(thread, id) ? "command_settled" : "command_not_found");
    return command;
  }

  #logged(thread: string, id: string): CommandOutcome | undefined {
    const seq = this.entries.get(thread)?.indexOf(`${id}/0`) ?? -1;
    return seq < 0 ? undefined : { status: "logged", seq };
  }

  #find(thread: string, id: string): ModelCommand | undefined {
    return this.inbox.get(`${thread} ${id}`);
  }

  #put(thread: string, id: string, command: ModelCommand): void {
    this.inbox.set(`${thread} ${id}`, command);
  }
}
