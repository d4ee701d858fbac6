import { memoryStore, react, type ThreadStore } from "heddle";
import { sqliteStore } from "heddle/sqlite";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { anything, gate, type Stage, stage, told } from "../support/stage.ts";

/** A process with the same name as the one before takes the thread over at once. */
const NODE = { holder: "node" };

/** What `onRequestEnd` got, and the function. */
function listener() {
  const heard: { readonly requestId: string; readonly status: string; readonly text: string }[] = [];
  const onRequestEnd = ({ requestId, status, text }: (typeof heard)[number]): void => {
    heard.push({ requestId, status, text });
  };
  return { heard, onRequestEnd };
}

async function ask(on: Stage, server: Awaited<ReturnType<Stage["start"]>>, requestId: string): Promise<void> {
  const request = await on.end(server.ask("Go.", { requestId }));
  await on.end(request.result.catch(() => undefined));
  await on.settled();
}

/** The acknowledgement of the end of a request is lost for ever: the process is stopped between the commit and the hook. */
const stoppedAfterEnd = (store: ThreadStore): ThreadStore => {
  const append: ThreadStore["append"] = async (...input) => {
    const result = await store.append(...input);
    if (told(result.entries).some((line) => line.includes("end:"))) await gate().promise;
    return result;
  };
  return Object.assign(Object.create(store), { append });
};

describe.each([
  ["memory", () => memoryStore()],
  ["SQLite", () => sqliteStore(fastFile())],
])("onRequestEnd on %s", (_name, open) => {
  test("is called once for each end, with its facts, and leaves no row", async () => {
    const on = await stage({ store: await open() });
    const { heard, onRequestEnd } = listener();
    const script = ["One.", { error: { status: 401 } }, { text: "Three", hang: true }];
    const server = await on.start({ script, onRequestEnd } as never, NODE);
    await ask(on, server, "r1");
    await ask(on, server, "r2");
    const third = await on.end(server.ask("Go.", { requestId: "r3" }));
    await on.end(server.cancel());
    await on.end(third.result.catch(() => undefined));
    await on.end(server.stop());
    expect(heard).toEqual([
      { requestId: "r1", status: "completed", text: "One." },
      { requestId: "r2", status: "failed", text: "" },
      { requestId: "r3", status: "cancelled", text: "Three" },
    ]);
    expect(await on.store.pending(on.threadId)).toEqual([]);
    const next = await on.start({ onRequestEnd } as never, NODE);
    await on.end(next.stop());
    expect(heard).toHaveLength(3);
  });

  test("is called by the next process when the one before was stopped between the end and the call", async () => {
    const inner = await open();
    const first = await stage({ store: inner, around: stoppedAfterEnd });
    const lost = listener();
    const before = await first.start({ script: ["One."], onRequestEnd: lost.onRequestEnd } as never, NODE);
    await first.end(before.ask("Go.", { requestId: "r1" }));
    await first.settled();
    expect(told(await first.log())).toEqual(["ask Go.", "says One. end:completed"]);
    const on = await stage({ store: inner });
    const { heard, onRequestEnd } = listener();
    for (let start = 0; start < 2; start++) {
      const server = await on.start({ onRequestEnd } as never, NODE);
      await on.settled();
      await on.end(server.stop());
    }
    expect(lost.heard).toEqual([]);
    expect(heard).toEqual([{ requestId: "r1", status: "completed", text: "One." }]);
    expect(await inner.pending(on.threadId)).toEqual([]);
  });

  test("is called again, also for an earlier request, when its process was stopped before it returned", async () => {
    const on = await stage({ store: await open() });
    const begun: string[] = [];
    const hangs = ({ requestId }: { readonly requestId: string }) => {
      begun.push(requestId);
      return gate().promise;
    };
    const script = ["One.", { text: "Two.", hang: true }];
    const first = await on.start({ script, onRequestEnd: hangs } as never, NODE);
    await on.settled();
    const one = await on.end(first.ask("Go.", { requestId: "r1" }));
    for await (const _event of one.events());
    await first.ask("Go on.", { requestId: "r2" });
    const { heard, onRequestEnd } = listener();
    const second = await on.start({ script: ["Two."], onRequestEnd } as never, NODE);
    await on.end(second.result("r2"));
    await on.settled();
    await on.end(second.stop());
    expect(begun).toEqual(["r1"]);
    expect(heard).toEqual([
      { requestId: "r1", status: "completed", text: "One." },
      { requestId: "r2", status: "completed", text: "Two." },
    ]);
    expect(await on.store.pending(on.threadId)).toEqual([]);
  });

  test("that throws or is late is reported, and not called again", async () => {
    const on = await stage({ store: await open() });
    const codes: string[] = [];
    const onError = (_error: unknown, { code }: { readonly code: string }) => void codes.push(code);
    for (const onRequestEnd of [() => Promise.reject(new Error("no")), () => gate().promise]) {
      const server = await on.start({ script: ["Hi."], onRequestEnd, hookTimeoutMs: 50 }, { ...NODE, onError });
      await ask(on, server, `r${codes.length}`);
      await on.end(server.stop());
    }
    expect(codes).toEqual(["request_end_failed", "request_end_failed"]);
    expect(await on.store.pending(on.threadId)).toEqual([]);
  });

  test("of an agent without it leaves the row of another one consumed", async () => {
    const inner = await open();
    const first = await stage({ store: inner, around: stoppedAfterEnd });
    const { onRequestEnd } = listener();
    const before = await first.start({ script: ["One."], onRequestEnd } as never, NODE);
    await first.end(before.ask("Go."));
    await first.settled();
    const on = await stage({ store: inner });
    const server = await on.start({}, NODE);
    await on.settled();
    await on.end(server.stop());
    expect(await inner.pending(on.threadId)).toEqual([]);
  });
});

test("a run without a server waits for onRequestEnd", async () => {
  const done: string[] = [];
  const onRequestEnd = async ({ status }: { readonly status: string }): Promise<void> => {
    await new Promise((resolve) => setImmediate(resolve));
    done.push(status);
  };
  const look = { inputSchema: anything, execute: () => "seen" };
  const model = scriptedModel([{ calls: [{ name: "look" }] }, "Seen."]);
  const store = memoryStore();
  await react.run("Look.", { model, tools: { look }, onRequestEnd }, { store, threadId: "t" });
  expect(done).toEqual(["completed"]);
  expect(await store.pending("t")).toEqual([]);
});
