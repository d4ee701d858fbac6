import { memoryStore } from "heddle";
import { type ThreadLoopOptions, threadLoop } from "heddle/ai-sdk";
import { expect, test } from "vitest";

const threadId = "thread_1";

test.each<[string, object, string]>([
  ["no store", { threadId }, "store must be a ThreadStore"],
  ["a promise of a store", { threadId, store: Promise.resolve(memoryStore()) }, "store is a promise; await it"],
  ["no thread", { store: memoryStore() }, "threadId"],
  ["a text for a time", { threadId, store: memoryStore(), claimWaitMs: "5" }, "claimWaitMs must be a number"],
  ["a negative time", { threadId, store: memoryStore(), idleMs: -1 }, "idleMs must be a number"],
  ["an owner that is no text", { threadId, store: memoryStore(), owner: 7 }, "owner must be text"],
  ["an unknown option", { threadId, store: memoryStore(), idle: 1 }, "has no option"],
])("%s is refused at once", (_, options, message) => {
  expect(refusal(() => threadLoop(options as ThreadLoopOptions))).toMatchObject({
    code: expect.stringMatching(/^invalid_(options|id)$/),
    message: expect.stringContaining(message),
  });
});

test.each([[[1]], [undefined], [{ look: 1 }], [[]]])("tools that are %j are refused at once", (tools) => {
  const loop = threadLoop({ store: memoryStore(), threadId });
  expect(refusal(() => loop.tools(tools as object))).toMatchObject({
    code: "invalid_options",
    message: expect.stringContaining("tools must be an object of tools by name"),
  });
});

test("a model by its name is refused at once", () => {
  const loop = threadLoop({ store: memoryStore(), threadId });
  expect(refusal(() => loop.model("openai/gpt-5" as never))).toMatchObject({
    code: "invalid_options",
    message: expect.stringContaining("model must be a model of a provider package"),
  });
});

function refusal(run: () => unknown): unknown {
  try {
    run();
  } catch (error) {
    return error;
  }
  throw new Error("It was accepted.");
}
