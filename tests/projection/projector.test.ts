import {
  type ContextPolicyInput,
  calibrated,
  createProjector,
  heuristic,
  memoryStore,
  type ProjectionInput,
  project,
  type Reader,
  type Thread,
  type TokenCounter,
} from "heddle";
import { assistant, switchTo, toolCall, toolResult, user } from "heddle/testing";
import { describe, expect, test, vi } from "vitest";
import { MessageListBuilder } from "../../src/projection/engine/assembly.ts";
import { History } from "../../src/projection/history/history.ts";
import { given, told } from "./given.ts";

const thread = given(user("go"), toolCall("a", "look", {}), toolResult("a", "look", "A"), assistant("found"));
const look = { name: "look", description: "Looks.", inputSchema: { type: "object" } };
const full: ProjectionInput = {
  thread,
  system: "Be kind.",
  tools: [look],
  model: "openai:gpt-5",
  policy: { maxInputTokens: 4000 },
};

describe("a projector", () => {
  test("gives what project gives, and the same object for the same input", () => {
    const projector = createProjector();
    const first = projector.project(full);
    expect(first).toEqual(project(full));
    expect(projector.project({ ...full })).toBe(first);
    expect(projector.project({ ...full, tools: [{ ...look }], policy: { maxInputTokens: 4000 } })).toBe(first);
    expect(projector.project({ ...full, system: { prompt: "Be kind." } })).toBe(first);
  });

  test.each([3, 4, 5, 6, 7])(
    "counts the messages of an exchange again when it gets more calls, up to %d",
    (maxMessages) => {
      const projector = createProjector();
      const policy: ContextPolicyInput = { maxMessages, window: { mode: "sliding" } };
      let growing = given(...["one", "two", "three"].flatMap((ask) => [user(ask), assistant("Yes.")]), user("look"));
      for (const id of ["a", "b", "c", "d"]) {
        growing = growing.append(toolCall(id, "look", {}));
        const { messages } = projector.project({ thread: growing, policy });
        expect(messages).toEqual(project({ thread: growing, policy }).messages);
      }
    },
  );

  const upper: Reader = {
    version: 1,
    read: ({ content }) => ({ type: "user", content: String(content).toUpperCase() }),
  };
  test.each<[string, Partial<ProjectionInput>]>([
    ["the thread", { thread: thread.append(user("so?")) }],
    ["the thread, to an earlier version", { thread: thread.upTo(1) }],
    ["the thread, to another", { thread: given(user("hi")) }],
    ["the policy", { policy: { maxInputTokens: 4000, maxTurns: 1 } }],
    ["what is pending", { pending: "so?" }],
    ["the system prompt", { system: "Be brief." }],
    ["the tools", { tools: [{ ...look, description: "Sees." }] }],
    ["the lane", { lane: "side" }],
    ["the model", { model: "openai:gpt-4" }],
    ["the readers", { readers: { message: upper } }],
    ["the counter", { tokenCounter: calibrated(heuristic, 2) }],
    ["the projection before", { previous: { messages: [] } }],
  ])("never gives an old answer when this has changed: %s", (_, change) => {
    const projector = createProjector();
    const before = projector.project(full);
    const changed = { ...full, ...change };
    const after = projector.project(changed);
    expect(after).not.toBe(before);
    expect(after).toEqual(project(changed));
    expect(projector.project(full)).toEqual(before);
  });

  test("sees a list of tools that was changed in place", () => {
    const tools = [
      { ...look, inputSchema: { type: "object", properties: {} as Record<string, Record<string, string>> } },
    ];
    const projector = createProjector();
    const before = projector.project({ thread, tools }).meta.fingerprint;
    const [tool] = tools;
    if (tool !== undefined) tool.inputSchema.properties["where"] = {};
    expect(projector.project({ thread, tools }).meta.fingerprint).not.toBe(before);
  });

  test("follows a thread that grows, and makes each message once", () => {
    const projector = createProjector();
    let growing = thread;
    let before = projector.project({ thread: growing });
    for (let n = 0; n < 20; n++) {
      growing = growing.append([user(`ask ${n}`), assistant(`answer ${n}`)]);
      const after = projector.project({ thread: growing });
      expect(after).toEqual(project({ thread: growing }));
      for (const [at, message] of before.messages.entries()) expect(after.messages[at]).toBe(message);
      before = after;
    }
  });

  test("counts only what is new when a thread has grown", () => {
    let counted = 0;
    const counter: TokenCounter = { id: "counting", count: (text) => heuristic.count(text) + 0 * counted++ };
    const projector = createProjector({ tokenCounter: counter });
    let growing = given(
      ...Array.from({ length: 200 }, (_, n) => (n % 2 === 0 ? user(`ask ${n}`) : assistant(`answer ${n}`))),
    );
    projector.project({ thread: growing });
    counted = 0;
    growing = growing.append(user("one more"));
    projector.project({ thread: growing });
    expect(counted).toBeLessThan(10);
  });

  test("keeps two branches of a thread apart", () => {
    const projector = createProjector();
    const [left, right] = [thread.append(user("left")), thread.append(user("right"))];
    for (const branch of [left, right, left.append(assistant("l")), right.append(assistant("r")), left]) {
      expect(projector.project({ thread: branch })).toEqual(project({ thread: branch }));
    }
  });

  test("keeps lanes apart, and follows a switch", () => {
    const projector = createProjector();
    const switched = thread.append([switchTo("side"), user("here")]);
    expect(told(projector.project({ thread: switched, lane: "default" }))).toHaveLength(4);
    expect(told(projector.project({ thread: switched }))).toEqual(["user: here"]);
    expect(told(projector.project({ thread }))).toHaveLength(4);
  });

  test("takes back what was pending", () => {
    const projector = createProjector();
    const called = given(user("go"), toolCall("a", "look", {}), toolCall("b", "look", {}));
    const before = projector.project({ thread: called });
    const results = [toolResult("b", "look", "B"), toolResult("a", "look", "A")];
    projector.project({ thread: called, pending: [...results, toolCall("a", "look", {}), user("so?")] });
    expect(projector.project({ thread: called })).toEqual(before);
    for (const next of [called.append(user("so?")), called.append([...results, ...results])]) {
      expect(projector.project({ thread: next })).toEqual(project({ thread: next }));
    }
  });

  test("says how much stayed without working anything out again, and without being changed by it", () => {
    const projector = createProjector();
    const first = projector.project({ thread });
    const add = vi.spyOn(MessageListBuilder.prototype, "add");
    const again = projector.project({ thread, previous: first });
    const other = projector.project({ thread, previous: { messages: first.messages.slice(0, 1) } });
    expect(add).not.toHaveBeenCalled();
    add.mockRestore();
    expect([again.meta.stablePrefix, other.meta.stablePrefix]).toEqual([first.messages.length, 1]);
    expect(again.messages).toBe(first.messages);
    expect(Object.isFrozen(again) && Object.isFrozen(again.meta)).toBe(true);
    expect(again).toEqual(project({ thread, previous: first }));
    expect(projector.project({ thread })).toBe(first);
    expect(first.meta).not.toHaveProperty("stablePrefix");
  });

  test.each(["perMessage", "factor", "version"] as const)("counts again when its counter changes its %s", (fact) => {
    const counter = { id: "own", version: "0", perMessage: 10, factor: 1, count: heuristic.count };
    const projector = createProjector({ tokenCounter: counter, tools: [look] });
    const before = projector.project({ thread });
    Object.assign(counter, { [fact]: { perMessage: 40, factor: 3, version: "1" }[fact] });
    const after = projector.project({ thread });
    expect(after).not.toBe(before);
    expect(after).toEqual(project({ thread, tokenCounter: counter, tools: [look] }));
  });

  test("never answers with a thread that it has read only in part", () => {
    const projector = createProjector();
    projector.project({ thread });
    const grown = thread.append([user("one"), assistant("two"), user("three")]);
    const add = vi.spyOn(History.prototype, "add");
    add.mockImplementationOnce(() => {
      throw new Error("half-way");
    });
    expect(() => projector.project({ thread: grown })).toThrow("half-way");
    add.mockRestore();
    expect(projector.project({ thread: grown })).toEqual(project({ thread: grown }));
    expect(projector.project({ thread })).toEqual(project({ thread }));
  });

  test("is as good as new after it had to refuse", () => {
    const projector = createProjector();
    const tight = { policy: { maxInputTokens: 60, reserveOutputTokens: 0 } };
    expect(() => projector.project({ thread, ...tight, pending: "x".repeat(1000) })).toThrow();
    expect(projector.project({ thread, ...tight })).toEqual(project({ thread, ...tight }));
  });

  test("completes each input with its options, which any field given wins over", () => {
    const projector = createProjector({ system: "Be kind.", policy: { maxInputTokens: 4000 }, keep: 1 });
    expect(projector.project({ thread })).toEqual(
      project({ thread, system: "Be kind.", policy: { maxInputTokens: 4000 } }),
    );
    expect(projector.project({ thread, system: "Be brief." }).messages[0]).toEqual({
      role: "system",
      content: "Be brief.",
    });
    expect(projector.project({ thread, system: undefined }).messages[0]).toEqual({
      role: "system",
      content: "Be kind.",
    });
    expect(projector.explain({ thread })).toHaveLength(4);
  });

  test("forgets a tail of a thread when another tail of it is loaded", async () => {
    let read = 0;
    const reader: Reader = {
      version: 1,
      read: ({ text }) => {
        read += 1;
        return { type: "user", content: `${text}` };
      },
    };
    const policy = { includeKinds: ["message", "weather"], maxInputTokens: 60, reserveOutputTokens: 0 };
    const store = memoryStore();
    const day = (n: number) => [{ kind: "weather", payload: { text: `day ${n}` } }, assistant(`night ${n}`)];
    await store.append("thread_t", Array.from({ length: 100 }, (_, n) => day(n)).flat());
    const [older, newer] = [await store.load("thread_t", { last: 150 }), await store.load("thread_t", { last: 100 })];
    const projector = createProjector();
    const readFor = (tail: Thread = thread): number => {
      const before = read;
      projector.project({ thread: tail, policy, readers: { weather: reader } });
      return read - before;
    };
    expect([readFor(older), readFor(older), readFor(newer), readFor(newer)]).toEqual([75, 0, 50, 0]);
    expect(readFor(older)).toBe(75);
  });

  test("forgets what it has not been asked about for long, and knows it again", () => {
    const projector = createProjector({ keep: 2 });
    const threads = Array.from({ length: 5 }, (_, n) => given(user(`ask ${n}`)));
    const first = threads.map((thread) => projector.project({ thread }));
    expect(threads.map((thread) => projector.project({ thread }))).toEqual(first);
    const last = threads.at(-1) ?? thread;
    expect(projector.project({ thread: last })).toBe(projector.project({ thread: last }));
  });
});
