import { generateText, isStepCount, jsonSchema, type ModelMessage, tool } from "ai";
import { memoryStore, type ThreadStore } from "heddle";
import { threadLoop } from "heddle/ai-sdk";
import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";

const threadId = "thread_1";
const script = [{ calls: [{ name: "look" }] }, { calls: [{ name: "look" }] }, "Sunny."];

function stepsOn(
  store: ThreadStore,
  look: () => unknown = () => "Sunny.",
  cut: (messages: ModelMessage[]) => ModelMessage[] = (messages) => messages,
) {
  const model = scriptedModel(script);
  const loop = threadLoop({ store, threadId });
  const tools = loop.tools({ look: tool({ inputSchema: jsonSchema({ type: "object" }), execute: look }) });
  const result = generateText({
    model: loop.model(model),
    tools,
    prompt: "Look.",
    maxRetries: 0,
    stopWhen: isStepCount(5),
    prepareStep: ({ messages }) => ({ messages: cut(messages) }),
  });
  return { model, result };
}

test("the entries of a thread are loaded once, however many steps a loop has", async () => {
  const loads: string[] = [];
  const store = new Proxy(memoryStore(), {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== "function") return value;
      return (...given: unknown[]): unknown => {
        if (name === "load") loads.push(name);
        return value.apply(target, given);
      };
    },
  });
  await store.append(threadId, [
    { kind: "message", payload: { role: "user", content: "Hi" } },
    { kind: "message", payload: { role: "assistant", content: "Hello." } },
  ]);
  const { model, result } = stepsOn(store);
  expect((await result).text).toBe("Sunny.");
  expect(loads).toEqual(["load"]);
  expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5]);
});

test("entries of another writer do not stop a loop", async () => {
  const store = memoryStore();
  const { model, result } = stepsOn(store, async () => void (await store.append(threadId, { kind: "note" })));
  expect((await result).text).toBe("Sunny.");
  expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5]);
  const kinds = (await store.load(threadId))?.toArray().map(({ kind }) => (kind === "note" ? "note" : "message"));
  expect(kinds?.join(" ")).toBe("message message note message message note message message");
});

test("a thread that was deleted while tools run is read from the start", async () => {
  const store = memoryStore();
  const { result } = stepsOn(store, async () => {
    await store.delete(threadId);
    await store.append(threadId, { kind: "message", payload: { role: "user", content: "Another thread." } });
  });
  await expect(result).rejects.toThrow();
  expect((await store.load(threadId))?.toArray().map(({ payload }) => payload)).toMatchObject([
    { content: "Another thread." },
  ]);
});

test("a prompt that changes between steps is read as it is", async () => {
  const shorten = (messages: ModelMessage[]): ModelMessage[] =>
    messages.map((message) => (message.role === "user" ? { role: "user", content: "Look now." } : message));
  const store = memoryStore();
  const { model, result } = stepsOn(
    store,
    () => "Sunny.",
    (messages) => (messages.length > 3 ? shorten(messages) : messages),
  );
  await result;
  expect(model.requests.map(({ messages }) => messages.length)).toEqual([1, 3, 5]);
  expect((await store.load(threadId))?.rev).toBe(6);
});

test("a message that is saved before its stopped stream has ended is there once", async () => {
  const store = memoryStore();
  const loop = threadLoop({ store, threadId });
  const model = loop.model(scriptedModel([{ text: ["It ", "is ", "sunny"], hang: true }]));
  const { stream } = await model.doStream({ prompt: [{ role: "user", content: [{ type: "text", text: "Bern?" }] }] });
  const reader = stream.getReader();
  for (let text = ""; text !== "It is sunny"; ) {
    const part = (await reader.read()).value as { readonly delta?: string };
    text += part.delta ?? "";
  }
  const said = (id: string, role: string, text: string) => ({ id, role, parts: [{ type: "text", text }] });
  const messages = [said("m1", "user", "Bern?"), said("m2", "assistant", "It is sunny")];
  await loop.save(messages);
  await reader.cancel();
  const entries = (await store.load(threadId))?.toArray() ?? [];
  expect(entries.map(({ kind, payload }) => payload["role"] ?? kind)).toEqual(["user", "assistant", "note"]);
  expect((await loop.messages()).map(({ id }) => id)).toEqual(["m1", "m2"]);
});
