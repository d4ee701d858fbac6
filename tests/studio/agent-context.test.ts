import { tool as sdkTool } from "ai";
import { type AnyAgent, defineAgent, memoryStore } from "heddle";
import { startStudio, studioHandler } from "heddle/studio";
import { scriptedModel } from "heddle/testing";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { started } from "./support/client.ts";

interface User {
  readonly user: string;
}

const model = scriptedModel(["Hello."], { order: "any" });
const prompt = ({ user }: User): string => `You help ${user}.`;
const inputSchema = z.object({});
const read = sdkTool({ inputSchema, contextSchema: z.object({ user: z.string() }), execute: () => 1 });

/** As a module that was loaded by its name: its type is not known. */
const READERS: { readonly [reader: string]: AnyAgent } = {
  systemPrompt: defineAgent({ name: "helper", model, systemPrompt: prompt }),
  "tool read": defineAgent({ name: "helper", model, tools: { read } }),
};

describe.each(Object.entries(READERS))("an agent whose %s reads a context", (reader, agent) => {
  test.each([
    ["startStudio", startStudio],
    ["studioHandler", studioHandler],
  ])("is refused by %s when there is none", async (what, start) => {
    const refused = start({ store: memoryStore(), agent, ui: false, ...(what === "startStudio" && { port: 0 }) });
    await expect(refused).rejects.toMatchObject({
      name: "StudioError",
      code: "invalid_options",
      message:
        `The agent helper needs a context, because its ${reader} has a parameter for it. ` +
        `Pass ${what}({ agent, context: (threadId) => ... }), with () => undefined if the agent works without one.`,
    });
  });

  test("starts with a context, and where no request runs", async () => {
    await started({ agent, context: () => undefined });
    await started({ agent, readOnly: true });
  });
});

test("a context may be a promise, and each request gets that of its thread", async () => {
  const agent = defineAgent({ model, systemPrompt: prompt });
  const { api } = await started({ agent: agent as AnyAgent, context: async (threadId) => ({ user: threadId }) });
  const id = await api.newThread();
  await api.asked(id, "Hi");
  expect(JSON.stringify(model.requests.at(-1)?.options["prompt"])).toContain(`You help ${id}.`);
});

test("an agent that reads no context needs none", async () => {
  const agent = defineAgent({ model, systemPrompt: () => "Be brief." });
  await started({ agent });
});
