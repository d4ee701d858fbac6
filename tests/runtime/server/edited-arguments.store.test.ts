import { jsonSchema, type ThreadStore } from "heddle";
import { toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import { sqliteStore } from "heddle/sqlite";
import { describe, expect, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { agentOf, house } from "../host/support/hosts.ts";
import { eventsOf, proveAll, type Stage, stage } from "../support/stage.ts";
import { readBySdk } from "../ui-messages/chat.ts";

const ORIGINAL = { path: "a.txt", text: "hello" };
const EDITED = { path: "b.txt", text: "hello" };
const inputSchema = jsonSchema<{ path: string }>(
  { type: "object", properties: { path: { type: "string" } }, required: ["path"] },
  {
    validate: (value) =>
      typeof Object(value).path === "string"
        ? { success: true, value: value as { path: string } }
        : { success: false, error: new Error("path must be text") },
  },
);
const CALL = { calls: [{ id: "call_w", name: "write", arguments: ORIGINAL }] };

function writing() {
  const written: unknown[] = [];
  const write = { inputSchema, needsApproval: true, execute: (input: unknown) => `file ${written.push(input)}` };
  return { written, tools: { write } };
}

const STORES: readonly [string, () => ThreadStore | undefined][] = [
  ["in memory", () => undefined],
  ["on SQLite", () => sqliteStore(fastFile())],
];

async function waits(on: Stage, config: Parameters<Stage["start"]>[0]) {
  const server = await on.start(config);
  const request = await on.end(server.ask("Write."));
  await on.end(eventsOf(request, { until: "waiting" }));
  return { server, request };
}

describe.each(STORES)("an approval with other arguments, %s", (_, open) => {
  const onStage = () => {
    const store = open();
    return stage(store === undefined ? {} : { store });
  };

  test("runs the tool with them, and shows them to the model; the log keeps both, and who edited", async () => {
    const on = await onStage();
    const { written, tools } = writing();
    const { server, request } = await waits(on, { script: [CALL, "Written.", "Again."], tools, redact: false });
    await on.end(server.approve("call_w", { by: "Ann", arguments: EDITED }));
    const { text, steps } = (await on.end(request.result)) as { text: string; steps?: readonly unknown[] };
    expect(text).toBe("Written.");
    expect(JSON.stringify(steps ?? [])).not.toContain("a.txt");
    expect(written).toEqual([EDITED]);
    const log = await on.log();
    const said = log.map(({ kind, payload }) => [kind, JSON.stringify(payload)] as const);
    expect(said.find(([kind]) => kind === "approval_resolved")?.[1]).toContain('"by":"Ann"');
    expect(said.find(([, text]) => text.includes('"toolCalls"'))?.[1]).toContain("a.txt");
    const started = (await eventsOf(request)).find(({ kind }) => kind === "tool_started");
    expect(started?.data).toEqual({ arguments: EDITED });
    await proveAll(on.store, on.threadId);
  });

  test("is not lost with the process: the next one runs the call with them, and shows them", async () => {
    const on = await onStage();
    const { written, tools } = writing();
    const { server } = await waits(on, { script: [CALL], tools });
    await on.end(server.stop());
    const [asked] = (await on.log()).filter(({ kind }) => kind === "approval_requested");
    // As a host of another process writes it.
    const payload = { contextRef: "default", toolCallId: "call_w", approved: true, by: "Ann", editedArguments: EDITED };
    await on.store.append(on.threadId, { kind: "approval_resolved", payload, refs: asked?.refs ?? {} });
    const next = await on.start({ script: [{ text: "Written.", delayMs: 5 }], tools });
    const request = next.request ?? expect.fail("nothing was resumed");
    const events = await on.end(eventsOf(request));
    expect(events.find(({ kind }) => kind === "approval_resolved")?.data).toMatchObject({ arguments: EDITED });
    expect(written).toEqual([EDITED]);
    expect(JSON.stringify(await toolInputs(on))).not.toContain("a.txt");
    await proveAll(on.store, on.threadId);
  });

  test("a request that is cancelled while the call runs shows the model what was begun", async () => {
    const on = await onStage();
    const write = { inputSchema, needsApproval: true, execute: () => new Promise(() => undefined) };
    const { server, request } = await waits(on, { script: [CALL, "Fine."], tools: { write } });
    await on.end(server.approve("call_w", { arguments: EDITED }));
    await on.end(server.cancel());
    await on.end(request.result.catch(() => undefined));
    await on.end((await on.end(server.ask("Why?"))).result);
    expect(JSON.stringify(await toolInputs(on))).toContain("b.txt");
    await proveAll(on.store, on.threadId);
  });

  test("is refused where they do not fit the schema, and nothing is written", async () => {
    const on = await onStage();
    const { written, tools } = writing();
    const { server } = await waits(on, { script: [CALL, "Written."], tools });
    const { length } = await on.log();
    for (const bad of [{ path: 7 }, {}, "no object", null, []]) {
      const refused = on.end(server.approve("call_w", { arguments: bad }));
      await expect(refused).rejects.toMatchObject({ code: "tool_bad_arguments" });
    }
    const dropped = on.end(server.deny("call_w", { arguments: EDITED } as never));
    await expect(dropped).rejects.toMatchObject({ code: "invalid_options" });
    await expect(on.end(server.approve("call_9", { arguments: EDITED }))).rejects.toMatchObject({
      code: "not_waiting",
    });
    expect([(await on.log()).length, written]).toEqual([length, []]);
  });

  test("that no model call could show is refused before the tool runs; smaller ones are taken", async () => {
    const on = await onStage();
    const { written, tools } = writing();
    const contextPolicy = { maxInputTokens: 20_000, reserveOutputTokens: 1_000 };
    const { server, request } = await waits(on, { script: [CALL, "Written."], tools, contextPolicy });
    const { length } = await on.log();
    const refused = on.end(server.approve("call_w", { arguments: { path: "b.txt", text: "word ".repeat(50_000) } }));
    const message = expect.stringMatching(/^The edited arguments of write do not fit, .* tokens needed/);
    await expect(refused).rejects.toMatchObject({ code: "budget_overflow", available: expect.any(Number), message });
    expect([(await on.log()).length, written, (await server.waiting()).length]).toEqual([length, [], 1]);
    await on.end(server.approve("call_w", { arguments: EDITED }));
    expect((await on.end(request.result)).text).toBe("Written.");
    expect(written).toEqual([EDITED]);
    await proveAll(on.store, on.threadId);
  });

  test("of two that fit alone but not together, the second is refused, also where both come at once", async () => {
    const on = await onStage();
    const { written, tools } = writing();
    const contextPolicy = { maxInputTokens: 20_000, reserveOutputTokens: 1_000 };
    const script = [{ calls: [...CALL.calls, { ...CALL.calls[0], id: "call_2", name: "write" }] }, "Written."];
    const { server, request } = await waits(on, { script, tools, contextPolicy });
    const large = { path: "b.txt", text: "word ".repeat(10_000) };
    const both = ["call_w", "call_2"].map((id) => on.end(server.approve(id, { arguments: large })));
    const [first, second] = await Promise.allSettled(both);
    expect([first?.status, second?.status]).toEqual(["fulfilled", "rejected"]);
    expect(second).toMatchObject({ reason: { code: "budget_overflow" } });
    await on.end(server.approve("call_2"));
    expect((await on.end(request.result)).text).toBe("Written.");
    expect(written).toEqual([large, ORIGINAL]);
    await proveAll(on.store, on.threadId);
  });

  test("is asked of the guard once more, which has seen only those of the model", async () => {
    const on = await onStage();
    const { written, tools } = writing();
    const guardTools = ({ arguments: given }: { readonly arguments: unknown }) =>
      Object(given).path === "b.txt" ? { deny: "b.txt is not yours" } : ("ask" as const);
    const { server, request } = await waits(on, { script: [CALL, "Not written."], tools, guardTools });
    await on.end(server.approve("call_w", { arguments: EDITED }));
    expect((await on.end(request.result)).text).toBe("Not written.");
    expect(written).toEqual([]);
    expect(JSON.stringify(await on.log())).toContain("b.txt is not yours");
  });
});

/** The arguments of all calls, as the messages of the whole thread show them. */
async function toolInputs(on: Stage): Promise<readonly unknown[]> {
  const thread = await on.store.load(on.threadId);
  return (thread?.toMessages({ format: "neutral" }) ?? []).flatMap((message) => Object(message).toolCalls ?? []);
}

test("a page shows the edited input, in the stream and after a reload", async () => {
  const on = await stage();
  const { tools } = writing();
  const { server, request } = await waits(on, { script: [CALL, "Written."], tools });
  const writeIn = (messages: readonly { readonly parts: readonly { readonly type: string }[] }[]) =>
    messages.flatMap(({ parts }) => parts).find(({ type }) => type === "tool-write");
  await on.end(server.approve("call_w", { by: "Ann", arguments: EDITED }));
  await on.end(request.result);
  const shown = { input: EDITED, state: "output-available", approval: { approved: true } };
  expect(writeIn(toUIMessages(await server.thread()))).toMatchObject(shown);
  const read = await readBySdk(uiMessageStream(request, { thread: () => server.thread() }));
  expect(read.errors).toEqual([]);
  expect(writeIn([read.message])).toMatchObject(shown);
  const decided = (await server.thread()).upTo((await server.thread()).filterByKind("approval_resolved")[0]?.seq ?? 0);
  expect(writeIn(toUIMessages(decided))).toMatchObject({ input: EDITED, state: "approval-responded" });
  await on.end(server.stop());
});

test("another process edits: the one that holds the thread runs the call with what was edited", async () => {
  const { host: make, end, store } = await house();
  const { written, tools } = writing();
  const holder = make({ agent: agentOf([CALL, "Written."], { tools }) });
  const request = await end(holder.ask("thread_1", "Write."));
  for await (const _event of request.events({ until: "waiting" }));
  const other = make({ agent: agentOf([], { tools }) });
  const bad = other.approve("thread_1", "call_w", { arguments: { path: 1 } as never });
  await expect(end(bad)).rejects.toMatchObject({ code: "tool_bad_arguments" });
  const stranger = make({ agent: agentOf([]) });
  const unknown = stranger.approve("thread_1", "call_w", { arguments: EDITED });
  await expect(end(unknown)).rejects.toMatchObject({ code: "unknown_tool" });
  const large = { path: "b.txt", text: "word ".repeat(200_000) };
  const refused = end(other.approve("thread_1", "call_w", { arguments: large }));
  await expect(refused).rejects.toMatchObject({ code: "budget_overflow" });
  await end(other.approve("thread_1", "call_w", { by: "Bea", arguments: EDITED }));
  expect((await end(request.result)).text).toBe("Written.");
  expect(written).toEqual([EDITED]);
  const [resolved] = (await store.load("thread_1"))?.filterByKind("approval_resolved") ?? [];
  expect(resolved?.payload).toMatchObject({ by: "Bea", editedArguments: EDITED });
  for (const host of [holder, other, stranger]) await end(host.stop());
});
