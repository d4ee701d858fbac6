import { AgentServer, defineAgent, memoryStore, type ThreadStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";

/** A store that says when it is given the end of a request, and waits. */
function slowAtTheEnd() {
  const { promise: ending, resolve: end } = Promise.withResolvers<void>();
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const memory = memoryStore();
  const append: ThreadStore["append"] = async (id, entries, options) => {
    const list = Array.isArray(entries) ? entries : [entries];
    if (list.some(({ payload }) => "end" in Object(payload))) {
      end();
      await released;
    }
    return memory.append(id, entries, options);
  };
  return { store: { ...memory, append }, ending, release };
}

test("a cancel that comes when the answer is being written says that it had no effect", async () => {
  const { store, ending, release } = slowAtTheEnd();
  const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["Yes."]) }), store });
  onTestFinished(() => server.stop());
  const request = await server.ask("Is it so?");
  await ending;
  const cancelled = server.cancel(request.id);
  release();
  expect((await request.result).text).toBe("Yes.");
  expect(await cancelled).toBe(false);
});
