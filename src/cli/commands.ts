import type { LoadedCommand } from "./command.ts";

export interface Listed {
  readonly name: string;
  readonly group: "Run" | "Look" | "Act" | "Move";
  readonly summary: string;
  readonly load: () => Promise<LoadedCommand>;
}

/** Every command; its file is loaded when it is called. */
export const COMMANDS: readonly Listed[] = [
  {
    name: "studio",
    group: "Run",
    summary: "A page and an API on the threads, on this machine",
    load: async () => (await import("./commands/studio.ts")).studio,
  },
  {
    name: "chat",
    group: "Run",
    summary: "Talk with the agent, line by line",
    load: async () => (await import("./commands/chat.ts")).chat,
  },
  {
    name: "ask",
    group: "Run",
    summary: "Ask once; the answer goes to stdout",
    load: async () => (await import("./commands/ask.ts")).ask,
  },
  {
    name: "threads",
    group: "Look",
    summary: "The threads there are",
    load: async () => (await import("./commands/threads.ts")).threads,
  },
  {
    name: "show",
    group: "Look",
    summary: "What happened: the entries of a thread",
    load: async () => (await import("./commands/show.ts")).show,
  },
  {
    name: "context",
    group: "Look",
    summary: "What a model would be shown, at any moment, by any policy",
    load: async () => (await import("./commands/context.ts")).context,
  },
  {
    name: "calls",
    group: "Look",
    summary: "The model calls of a thread",
    load: async () => (await import("./commands/calls.ts")).calls,
  },
  {
    name: "rebuild",
    group: "Look",
    summary: "What a past call was sent, proven",
    load: async () => (await import("./commands/rebuild.ts")).rebuild,
  },
  {
    name: "diff",
    group: "Look",
    summary: "Two calls or two policies, message by message, and why they differ",
    load: async () => (await import("./commands/diff.ts")).diff,
  },
  {
    name: "verify",
    group: "Look",
    summary: "Check every hash and link, and that past calls are proven",
    load: async () => (await import("./commands/verify.ts")).verify,
  },
  {
    name: "token",
    group: "Look",
    summary: "What a resume token says",
    load: async () => (await import("./commands/token.ts")).token,
  },
  {
    name: "approve",
    group: "Act",
    summary: "Let a call run that waits for approval",
    load: async () => (await import("./commands/approve.ts")).approve,
  },
  {
    name: "deny",
    group: "Act",
    summary: "Refuse a call that waits for approval",
    load: async () => (await import("./commands/deny.ts")).deny,
  },
  {
    name: "answer",
    group: "Act",
    summary: "Give the result of a call that waits for it",
    load: async () => (await import("./commands/answer.ts")).answer,
  },
  {
    name: "steer",
    group: "Act",
    summary: "Words for a request that is at work",
    load: async () => (await import("./commands/steer.ts")).steer,
  },
  {
    name: "cancel",
    group: "Act",
    summary: "End the request that is open",
    load: async () => (await import("./commands/cancel.ts")).cancel,
  },
  {
    name: "fork",
    group: "Act",
    summary: "Another thread with the same past",
    load: async () => (await import("./commands/fork.ts")).fork,
  },
  {
    name: "summarize",
    group: "Act",
    summary: "Have a summary written of a range",
    load: async () => (await import("./commands/summarize.ts")).summarize,
  },
  {
    name: "export",
    group: "Move",
    summary: "A thread as JSON Lines, JSON, or one HTML page",
    load: async () => (await import("./commands/export.ts")).exportThread,
  },
  {
    name: "import",
    group: "Move",
    summary: "A thread from an export or a list of messages",
    load: async () => (await import("./commands/import.ts")).importThread,
  },
];
