import fc from "fast-check";
import { AgentHost, type AnyAgent, defineAgent, memoryStore } from "heddle";
import { type ScriptedRequest, scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { anything } from "./support/hosts.ts";

const TAG = /<(\d+)>/g;

function tagsIn(request: ScriptedRequest): readonly string[] {
  return [...JSON.stringify(request.messages).matchAll(TAG)].map(([, tag]) => tag ?? "");
}

test("conversations on one host, however interleaved, never see each other", async () => {
  const asks = fc.array(fc.record({ thread: fc.nat(4), tool: fc.boolean(), yields: fc.nat(3) }), {
    minLength: 1,
    maxLength: 14,
  });
  await fc.assert(
    fc.asyncProperty(asks, fc.constantFrom(0, 1, 60_000), async (list, idleMs) => {
      const seen: (readonly string[])[] = [];
      const contexts: string[] = [];
      const answer = async (request: ScriptedRequest) => {
        const tags = tagsIn(request);
        seen.push(tags);
        await turns(Number(tags.at(-1)) % 3);
        const last = request.messages.at(-1);
        const wantsTool = last?.role === "user" && last.text?.endsWith("tool") === true;
        return wantsTool ? { calls: [{ name: "say", arguments: { tag: `<${tags.at(-1)}>` } }] } : `ok <${tags.at(-1)}>`;
      };
      const say = {
        inputSchema: anything,
        execute: async ({ tag }: { tag: string }, { context }: { context: unknown }) => {
          contexts.push(`${tag} ${context}`);
          await turns(1);
          return `heard ${tag}`;
        },
      };
      const model = scriptedModel(
        Array.from({ length: list.length * 2 }, () => answer),
        { order: "any" },
      );
      const agent = defineAgent({ model, tools: { say } as never, busy: "queue" }) as AnyAgent;
      const host = AgentHost.create({ agent, store: memoryStore(), idleMs });
      const requests = list.map(async ({ thread, tool, yields }) => {
        await turns(yields);
        const request = await host.ask(`thread_${thread}`, `<${thread}> ${tool ? "tool" : "talk"}`, {
          context: `<${thread}>` as never,
        });
        const { text } = await request.result;
        expect(text).toBe(`ok <${thread}>`);
      });
      await Promise.all(requests);
      for (const tags of seen) expect(new Set(tags).size).toBe(1);
      for (const context of contexts) expect(context).toMatch(/^(<\d+>) \1$/);
      const tools = list.filter(({ tool }) => tool).length;
      expect([seen.length, contexts.length]).toEqual([list.length + tools, tools]);
      await host.stop();
      expect(host.size).toBe(0);
    }),
    { numRuns: 40 },
  );
});

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}
