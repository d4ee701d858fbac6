import { randomUUID } from "node:crypto";
import {
  AgentHost,
  type AgentRequest,
  defineAgent,
  defineTool,
  memoryStore,
  systemRuntimePorts,
  type ThreadStore,
  type Tools,
} from "heddle";
import { resumeTurn, toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import { postgresStore } from "heddle/postgres";
import { sqliteStore } from "heddle/sqlite";
import type { Bus } from "heddle/store";
import { type ScriptedStep, scriptedModel } from "heddle/testing";
import { describe, expect, inject, onTestFinished, test } from "vitest";
import { fastFile } from "../../support/temp-folder.ts";
import { readBySdk } from "../ui-messages/chat.ts";
import { anything } from "./support/hosts.ts";

const T = "thread_1";
const LOOK = { calls: [{ id: "look", name: "look" }] } as const;

type Stores = readonly [ThreadStore, ThreadStore];
const DATABASES: readonly [string, () => Stores][] = [
  [
    "memory",
    () => {
      const store = memoryStore();
      return [store, store];
    },
  ],
  [
    "SQLite in one process",
    () => {
      const store = sqliteStore(fastFile());
      return [store, store];
    },
  ],
  [
    "Postgres",
    () => {
      const tenant = randomUUID();
      return [postgresStore(inject("postgresUrl"), { tenant }), postgresStore(inject("postgresUrl"), { tenant })];
    },
  ],
];

/** A model that stops before the piece of text with this number until it is opened. */
function pausing(script: readonly ScriptedStep[], piece: number) {
  const { promise, resolve: open } = Promise.withResolvers<void>();
  const scripted = scriptedModel(script, { order: "any" });
  let seen = 0;
  type Part = { readonly type: string };
  const transform = async (part: Part, controller: TransformStreamDefaultController<Part>): Promise<void> => {
    if (part.type === "text-delta" && seen++ === piece) await promise;
    controller.enqueue(part);
  };
  const doStream = async (options: never) => {
    const { stream, ...rest } = await scripted.doStream(options);
    return { ...rest, stream: (stream as ReadableStream<Part>).pipeThrough(new TransformStream({ transform })) };
  };
  const model = { ...scripted, doStream };
  return { model, open };
}

interface Nodes {
  readonly one: AgentHost;
  readonly two: AgentHost;
  readonly stores: Stores;
}

function nodes(stores: Stores, model: unknown, given: { readonly tools?: Tools; readonly bus?: Bus } = {}): Nodes {
  const { tools = {}, bus } = given;
  const agent = defineAgent({ name: "a", model: model as never, tools });
  const [one, two] = stores.map((store) => {
    const host = AgentHost.create({ agent, store, bus, ports, warn: () => undefined });
    onTestFinished(() => host.stop({ graceMs: 0 }));
    return host;
  }) as [AgentHost, AgentHost];
  onTestFinished(async () => {
    for (const store of new Set(stores)) await store.close();
  });
  return { one, two, stores };
}

/** Timers that fire early. */
const ports = { after: (ms: number, run: () => void) => systemRuntimePorts.after(ms / 10, run) };

/** Reads the text of a request until it is this long. */
async function textOf(request: AgentRequest, length: number): Promise<string> {
  let text = "";
  for await (const delta of request.textStream) {
    text += delta;
    if (text.length >= length) break;
  }
  return text;
}

async function followed(host: AgentHost): Promise<AgentRequest> {
  const request = await host.resume(T);
  if (request === undefined) return expect.fail("no request is open");
  return request;
}

describe.each(DATABASES)("a request that another host runs, on %s", (_name, open) => {
  test("streams its text while the model writes it, and the rest once", async () => {
    const { model, open: go } = pausing([{ text: ["To be ", "or not ", "to be, ", "that is it."] }], 2);
    const { one, two } = nodes(open(), model);
    await one.ask(T, "Say it.");
    const request = await followed(two);
    expect(await textOf(request, 13)).toBe("To be or not ");
    const late = await followed(two); // begins in the middle of the answer
    expect(await textOf(late, 13)).toBe("To be or not ");
    go();
    expect(await textOf(request, 100)).toBe("To be or not to be, that is it.");
    expect(await textOf(late, 100)).toBe("To be or not to be, that is it.");
    const kinds: (readonly [number, string])[] = [];
    for await (const { kind, seq } of request.events()) kinds.push([seq, kind]);
    expect(kinds.map(([seq]) => seq)).toEqual(kinds.map((_, index) => index + 1));
    expect(kinds.map(([, kind]) => kind).filter((kind) => kind !== "llm_delta")).toEqual([
      "request_started",
      "llm_started",
      "llm_completed",
      "request_completed",
    ]);
  });

  test("shows a reloaded page the same as the log, with the parts of tools that run", async () => {
    const begun = Promise.withResolvers<void>();
    const opened = Promise.withResolvers<void>();
    const look = defineTool({
      inputSchema: anything,
      execute: async (_input, { write }) => {
        write({ type: "data-progress", data: { done: 1 } });
        write({ type: "data-progress", id: "p", data: { done: 2 } });
        begun.resolve();
        await opened.promise;
        write({ type: "data-progress", id: "p", data: { done: 3 } });
        return "seen";
      },
    });
    const { one, two } = nodes(open(), scriptedModel([LOOK, "Done."], { order: "any" }), { tools: { look } });
    await one.ask(T, "Look.");
    await begun.promise;
    const turn = await resumeTurn(two, T);
    if (turn === undefined) return expect.fail("the request is open");
    const parts: unknown[] = [];
    for await (const event of turn.request.events()) {
      if (event.kind !== "tool_data") continue;
      parts.push(event.data.data);
      if (parts.length === 2) opened.resolve();
    }
    expect(parts).toEqual([{ done: 1 }, { done: 2 }, { done: 3 }]);
    const { message, errors } = await readBySdk(uiMessageStream(turn.request, turn));
    expect([message, errors]).toEqual([toUIMessages(await one.thread(T)).at(-1), []]);
  });

  test("continues when a third host takes the request over in the middle of an answer", async () => {
    const stores = open();
    const { model } = pausing([{ text: ["First ", "try."] }], 1);
    const { one, two } = nodes(stores, model);
    await one.ask(T, "Say it.");
    const request = await followed(two);
    expect(await textOf(request, 6)).toBe("First ");
    const next = pausing([{ text: ["Second ", "try."] }], 1);
    const agent = defineAgent({ name: "a", model: next.model as never });
    const three = AgentHost.create({ agent, store: stores[0], ports, warn: () => undefined });
    onTestFinished(() => three.stop({ graceMs: 0 }));
    await one.stop({ graceMs: 0 });
    await three.resume(T);
    const events: string[] = [];
    for await (const event of request.events()) {
      if (event.kind === "llm_started") events.length = 0;
      if (event.kind === "llm_delta") events.push(event.data.text);
      if (events.join("") === "Second ") next.open();
    }
    expect(events.join("")).toBe("Second try.");
    expect((await request.result).text).toBe("Second try.");
  });
});

describe("a bus of the user", () => {
  test("carries the events in place of the bus of the store", async () => {
    const listeners = new Set<(message: never) => void>();
    const types: unknown[] = [];
    const bus: Bus = {
      publish: (message) => {
        types.push((message as { readonly type: unknown }).type);
        const sent = JSON.parse(JSON.stringify(message)) as never;
        for (const listen of listeners) listen(sent);
      },
      subscribe: (listen) => {
        listeners.add(listen as never);
        return () => void listeners.delete(listen as never);
      },
    };
    const store = { ...memoryStore(), bus: undefined };
    const { model, open } = pausing([{ text: ["To be ", "or not to be"] }], 1);
    const { one, two } = nodes([store, store], model, { bus });
    await one.ask(T, "Say it.");
    const request = await followed(two);
    expect((await textOf(request, 1)).length).toBeGreaterThan(0);
    open();
    expect((await request.result).text).toBe("To be or not to be");
    expect([types[0], types[1]]).toEqual(["follow", "events"]);
    await Promise.all([one.stop(), two.stop()]);
    expect(listeners.size).toBe(0);
  });

  test.each([
    ["throws", { publish: () => expect.fail("publish"), subscribe: () => () => expect.fail("unsubscribe") }],
    ["is silent", { publish: () => undefined, subscribe: () => undefined as never }],
    [
      "sends garbage",
      {
        publish: () => undefined,
        subscribe: (listen) => {
          for (const garbage of [null, 1, {}, { type: "follow" }, { type: "events", to: 1 }]) listen(garbage);
          return () => undefined;
        },
      },
    ],
  ] satisfies [string, Bus][])("that %s harms no request", async (_what, bus) => {
    const store = memoryStore();
    const { model, open } = pausing([{ text: ["To be ", "or not to be"] }], 1);
    const { one, two } = nodes([store, store], model, { bus });
    await one.ask(T, "Say it.");
    const request = await followed(two);
    const text = textOf(request, 100);
    open();
    expect(await text).toBe("To be or not to be");
    await Promise.all([one.stop(), two.stop()]);
  });

  test("without its two functions is refused", () => {
    const agent = defineAgent({ model: scriptedModel([]) });
    const make = () => AgentHost.create({ agent, store: memoryStore(), bus: { publish: () => undefined } as never });
    expect(make).toThrow(expect.objectContaining({ code: "invalid_options", message: expect.stringContaining("bus") }));
  });
});
