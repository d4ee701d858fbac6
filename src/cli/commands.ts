import type { LoadedCommand } from "./command.ts";

export interface Listed {
  readonly name: string;
  readonly group: "Run" | "Look" | "Act" | "Move";
  readonly summary: string;
  readonly load: () => Promise<LoadedCommand>;
}

/** Every command. The file of a command is loaded only when the command is called. */
export const COMMANDS: readonly Listed[] = [
  {
    name: "studio",
    group: "Run",
    summary: "Serve a page and an API for the threads, on this machine",
    load: async () => (await import("./commands/studio.ts")).studio,
  },
  {
    name: "chat",
    group: "Run",
    summary: "Talk to the agent, line by line",
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
    summary: "List the threads",
    load: async () => (await import("./commands/threads.ts")).threads,
  },
  {
    name: "show",
    group: "Look",
    summary: "Show what happened: the entries of a thread",
    load: async () => (await import("./commands/show.ts")).show,
  },
  {
    name: "context",
    group: "Look",
    summary: "Show what a model would get, at any entry, with any policy",
    load: async () => (await import("./commands/context.ts")).context,
  },
  {
    name: "calls",
    group: "Look",
    summary: "List the model calls of a thread",
    load: async () => (await import("./commands/calls.ts")).calls,
  },
  {
    name: "rebuild",
    group: "Look",
    summary: "Rebuild what a past call sent, and prove it",
    load: async () => (await import("./commands/rebuild.ts")).rebuild,
  },
  {
    name: "diff",
    group: "Look",
    summary: "Compare two calls or two policies, message by message, with reasons",
    load: async () => (await import("./commands/diff.ts")).diff,
  },
  {
    name: "verify",
    group: "Look",
    summary: "Check every hash and link; with --calls, also every past call",
    load: async () => (await import("./commands/verify.ts")).verify,
  },
  {
    name: "token",
    group: "Look",
    summary: "Show what a resume token contains",
    load: async () => (await import("./commands/token.ts")).token,
  },
  {
    name: "approve",
    group: "Act",
    summary: "Run a tool call that waits for approval",
    load: async () => (await import("./commands/approve.ts")).approve,
  },
  {
    name: "deny",
    group: "Act",
    summary: "Refuse a tool call that waits for approval",
    load: async () => (await import("./commands/deny.ts")).deny,
  },
  {
    name: "answer",
    group: "Act",
    summary: "Give the result of a tool call that waits for one",
    load: async () => (await import("./commands/answer.ts")).answer,
  },
  {
    name: "steer",
    group: "Act",
    summary: "Send text to a running request",
    load: async () => (await import("./commands/steer.ts")).steer,
  },
  {
    name: "cancel",
    group: "Act",
    summary: "Cancel the open request",
    load: async () => (await import("./commands/cancel.ts")).cancel,
  },
  {
    name: "fork",
    group: "Act",
    summary: "Make a new thread with the same history",
    load: async () => (await import("./commands/fork.ts")).fork,
  },
  {
    name: "summarize",
    group: "Act",
    summary: "Summarize a range of entries",
    load: async () => (await import("./commands/summarize.ts")).summarize,
  },
  {
    name: "export",
    group: "Move",
    summary: "Write a thread as JSON Lines, JSON, or one HTML page",
    load: async () => (await import("./commands/export.ts")).exportThread,
  },
  {
    name: "import",
    group: "Move",
    summary: "Read a thread from an export or a list of messages",
    load: async () => (await import("./commands/import.ts")).importThread,
  },
];
