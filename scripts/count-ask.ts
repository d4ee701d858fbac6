// Runs one `ask` on a started server with a SQLite store, and prints as JSON, from the call until the result:
// - files of src in which a function was executed. V8 coverage starts after the modules are loaded, so that their top
//   levels do not count. The scripted model stands for a provider and does not count.
// - named functions of src on the way from `ask` to its first `store.append`: the stack inside `append`, and the stacks
//   of the promises and callbacks that it ran in. A function without a name is part of the one around it.
import { createHook, executionAsyncId } from "node:async_hooks";
import { mkdtemp, rm } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { AgentServer, defineAgent } from "../src/index.ts";
import { sqliteStore } from "../src/sqlite.ts";
import type { ThreadStore } from "../src/stores/port.ts";
import { scriptedModel } from "../src/testing.ts";
import { root } from "./root.ts";

export interface AskCount {
  /** Files of src, from the project's root. */
  readonly files: readonly string[];
  /** From `ask` to the store, as `file function`. */
  readonly calls: readonly string[];
}

/** A promise or callback: the stack that made it, and the promise or callback which that stack ran in. */
interface Origin {
  readonly from: number;
  readonly stack: string;
}

/** A frame of a function with a name: `run`, `#run` or `Loop.run`. V8 derives longer names for functions without one. */
const FRAME = /^\s+at (?:async )?(#?\w+|[A-Z]\w*\.#?\w+) .*?(file:.+?):\d+:\d+\)?$/;

/** The scripted model, and the timer that looks for changes of other processes. It fires in an ask of a busy machine only. */
const NOT_OF_ASK = ["src/scripted-model/", "src/stores/sqlite/feed.ts"];

console.log(JSON.stringify(await countAsk()));

async function countAsk(): Promise<AskCount> {
  Error.stackTraceLimit = Infinity;
  const folder = await mkdtemp(join(tmpdir(), "heddle-count-"));
  const store = sqliteStore(join(folder, "count.db"));
  const watched = watchAppend(store);
  const agent = defineAgent({ model: scriptedModel(["4"]) });
  const server = await AgentServer.start({ agent, store: watched.store });
  const session = new Session();
  session.connect();
  try {
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    const request = await watched.during(() => server.ask("What's 2+2?"));
    await request.result;
    const { result } = await session.post("Profiler.takePreciseCoverage");
    const ran = result.filter(({ functions }) =>
      functions.some(({ ranges: [range] }) => range !== undefined && range.startOffset > 0 && range.count > 0),
    );
    const files = ran.flatMap(({ url }) => sourceOf(url) ?? []);
    return {
      files: files.filter((path) => !NOT_OF_ASK.some((other) => path.startsWith(other))).toSorted(),
      calls: watched.calls(),
    };
  } finally {
    session.disconnect();
    await server.stop();
    await store.close();
    await rm(folder, { recursive: true });
  }
}

function watchAppend(store: ThreadStore): {
  readonly store: ThreadStore;
  readonly during: <Value>(run: () => Promise<Value>) => Promise<Value>;
  readonly calls: () => readonly string[];
} {
  const origins = new Map<number, Origin>();
  const hook = createHook({
    init: (id, _type, from) => void origins.set(id, { from, stack: stackHere() }),
  });
  let first: readonly string[] | undefined;
  const append: ThreadStore["append"] = (...parts) => {
    first ??= stacksTo(origins, executionAsyncId(), stackHere());
    return store.append(...parts);
  };
  return {
    store: new Proxy(store, { get: (target, name) => (name === "append" ? append : Reflect.get(target, name)) }),
    during: async (run) => {
      hook.enable();
      try {
        return await run();
      } finally {
        hook.disable();
      }
    },
    calls: () => callsOf(first ?? []),
  };
}

function stackHere(): string {
  return new Error().stack ?? "";
}

/** This stack and those that led to it, newest first. */
function stacksTo(origins: ReadonlyMap<number, Origin>, id: number, stack: string): readonly string[] {
  const origin = origins.get(id);
  return origin === undefined ? [stack] : [stack, ...stacksTo(origins, origin.from, origin.stack)];
}

function callsOf(stacks: readonly string[]): readonly string[] {
  const frames = stacks
    .flatMap((stack) => stack.split("\n"))
    .flatMap((line) => {
      const [, name, url] = FRAME.exec(line) ?? [];
      const file = url && sourceOf(url);
      return file && name ? [`${file} ${name}`] : [];
    });
  return [...new Set(frames.reverse())];
}

function sourceOf(url: string): string | undefined {
  if (!url.startsWith("file:")) return undefined;
  const path = relative(root, fileURLToPath(url)).replaceAll("\\", "/");
  return path.startsWith("src/") ? path : undefined;
}
