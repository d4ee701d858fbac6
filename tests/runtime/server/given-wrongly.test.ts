import { AgentHost, AgentServer, defineAgent, memoryStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { describe, expect, onTestFinished, test } from "vitest";

async function scene() {
  const store = memoryStore();
  const agent = defineAgent({ model: scriptedModel(["Yes."]) });
  const server = await AgentServer.start({ agent, store, threadId: "own" });
  const host = AgentHost.create({ agent, store });
  onTestFinished(async () => {
    await server.stop();
    await host.stop();
  });
  return { server, host, store };
}

describe("from code without types", () => {
  test.each([["text"], [1], [["list"]]])(
    "refs of an ask that are %j are refused, and nothing is written",
    async (refs) => {
      const { server, store } = await scene();
      const options = { refs } as never;
      await expect(server.ask("Hi?", options)).rejects.toMatchObject({
        code: "invalid_ask",
        message: expect.stringContaining("refs must be"),
      });
      expect((await store.load("own"))?.rev ?? 0).toBe(0);
    },
  );

  test.each([[undefined], [5], [{ toolCallId: "c" }]])(
    "a decision on the call %j names what is missing",
    async (given) => {
      const { server, host } = await scene();
      const toolCallId = given as never;
      const refused = { code: "invalid_options", message: expect.stringContaining("toolCallId") };
      await expect(server.approve(toolCallId)).rejects.toMatchObject(refused);
      await expect(server.deny(toolCallId)).rejects.toMatchObject(refused);
      await expect(server.answer(toolCallId, "x")).rejects.toMatchObject(refused);
      await expect(host.approve("t", toolCallId)).rejects.toMatchObject(refused);
      await expect(host.deny("t", toolCallId)).rejects.toMatchObject(refused);
      await expect(host.answer("t", toolCallId, "x")).rejects.toMatchObject(refused);
    },
  );
});
