import type { LoadedCommand } from "./command.ts";

export interface CommandEntry {
  readonly name: string;
  readonly group: "Run" | "Look" | "Act" | "Move";
  readonly summary: string;
  readonly load: () => Promise<LoadedCommand>;
}

// Loaders of the modules that contain several commands.
const loadThreads = () => import("./commands/threads.ts");
const loadContext = () => import("./commands/context.ts");
const loadCalls = () => import("./commands/calls.ts");
const loadDecisions = () => import("./commands/decisions.ts");
const loadThreadActions = () => import("./commands/thread-actions.ts");
const loadStore = () => import("./commands/store.ts");
const loadTransfer = () => import("./commands/transfer.ts");

/** Every command. The module of a command is loaded only when the user calls the command. */
export const COMMANDS: readonly CommandEntry[] = [
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
    name: "worker",
    group: "Run",
    summary: "Run the threads that no process has, of any store",
    load: async () => (await import("./commands/worker.ts")).worker,
  },
  {
    name: "serve",
    group: "Run",
    summary: "Serve chat, API, Studio and probes, for a deploy",
    load: async () => (await import("./commands/serve.ts")).serve,
  },
  {
    name: "threads",
    group: "Look",
    summary: "List the threads",
    load: async () => (await loadThreads()).threads,
  },
  {
    name: "show",
    group: "Look",
    summary: "Show what happened: the entries of a thread",
    load: async () => (await loadThreads()).show,
  },
  {
    name: "context",
    group: "Look",
    summary: "Show what a model would get, at any entry, with any policy",
    load: async () => (await loadContext()).context,
  },
  {
    name: "calls",
    group: "Look",
    summary: "List the model calls of a thread",
    load: async () => (await loadCalls()).calls,
  },
  {
    name: "rebuild",
    group: "Look",
    summary: "Rebuild what a past call sent, and prove it",
    load: async () => (await loadCalls()).rebuild,
  },
  {
    name: "diff",
    group: "Look",
    summary: "Compare two calls or two policies, message by message, with reasons",
    load: async () => (await loadContext()).diff,
  },
  {
    name: "verify",
    group: "Look",
    summary: "Check every hash and link; with --calls, also every past call",
    load: async () => (await import("./commands/verify.ts")).verify,
  },
  {
    name: "waiting",
    group: "Look",
    summary: "List the calls of all threads that wait for a decision",
    load: async () => (await loadStore()).waiting,
  },
  {
    name: "usage",
    group: "Look",
    summary: "List tokens by day and model, also of one owner or thread",
    load: async () => (await loadStore()).usage,
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
    load: async () => (await loadDecisions()).approve,
  },
  {
    name: "deny",
    group: "Act",
    summary: "Refuse a tool call that waits for approval",
    load: async () => (await loadDecisions()).deny,
  },
  {
    name: "answer",
    group: "Act",
    summary: "Give the result of a tool call that waits for one",
    load: async () => (await loadDecisions()).answer,
  },
  {
    name: "steer",
    group: "Act",
    summary: "Send text to a running request",
    load: async () => (await loadThreadActions()).steer,
  },
  {
    name: "cancel",
    group: "Act",
    summary: "Cancel the open request",
    load: async () => (await loadThreadActions()).cancel,
  },
  {
    name: "fork",
    group: "Act",
    summary: "Make a new thread with the same history",
    load: async () => (await loadThreadActions()).fork,
  },
  {
    name: "summarize",
    group: "Act",
    summary: "Summarize a range of entries",
    load: async () => (await loadThreadActions()).summarize,
  },
  {
    name: "export",
    group: "Move",
    summary: "Write a thread as JSON Lines, JSON, or one HTML page",
    load: async () => (await loadTransfer()).exportThread,
  },
  {
    name: "import",
    group: "Move",
    summary: "Read a thread from an export or a list of messages",
    load: async () => (await loadTransfer()).importThread,
  },
  {
    name: "delete",
    group: "Move",
    summary: "Delete a thread",
    load: async () => (await loadStore()).deleteThread,
  },
];
