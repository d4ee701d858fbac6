import fc from "fast-check";
import { AgentHost, defineAgent, memoryStore, systemRuntimePorts } from "heddle";
import { resumeTurn, toUIMessages, uiMessageStream } from "heddle/ai-sdk";
import type { Bus } from "heddle/store";
import { type ScriptedPart, type ScriptedStep, scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { readBySdk } from "../ui-messages/chat.ts";
import { anything } from "./support/hosts.ts";

const T = "thread_1";

const deltas = fc.array(fc.string({ minLength: 1, maxLength: 8, unit: "grapheme" }), { minLength: 1, maxLength: 6 });
const part: fc.Arbitrary<ScriptedPart> = fc.oneof(
  deltas.map((text) => ({ text })),
  deltas.map((thinking) => ({ thinking })),
);
const failing = fc.record({
  text: deltas,
  error: fc.constant({ status: 503 }),
  after: fc.nat({ max: 4 }),
  deltaDelayMs: fc.nat({ max: 100 }),
});
const step = fc.record({
  parts: fc
    .tuple(fc.array(part, { maxLength: 3 }), fc.constantFrom(1, 2))
    .map(([parts, calls]): ScriptedPart[] => [...parts, ...Array.from({ length: calls }, () => ({ name: "look" }))]),
  deltaDelayMs: fc.nat({ max: 100 }),
});
const last = fc.record({ text: deltas, deltaDelayMs: fc.nat({ max: 100 }) });
const script: fc.Arbitrary<readonly ScriptedStep[]> = fc
  .tuple(fc.array(fc.oneof({ weight: 3, arbitrary: step }, failing), { maxLength: 3 }), last)
  .map(([before, end]) => [
    ...before.filter((one) => !("parts" in one) || one.parts.some((part) => "name" in part)),
    end,
  ]);

/** The fate of a message: lost, or late by so many milliseconds. Messages of one process stay in order. */
const fates = fc.array(fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, fc.constant("lost"), fc.nat({ max: 200 })), {
  minLength: 1,
  maxLength: 20,
});

/** Timers that fire early. */
const ports = { after: (ms: number, run: () => void) => systemRuntimePorts.after(ms / 50, run) };

function lossyBus(fate: readonly (number | "lost")[]): Bus {
  const listeners = new Set<Parameters<Bus["subscribe"]>[0]>();
  let sent = 0;
  let before = Promise.resolve();
  return {
    publish: (message) => {
      const what = fate[sent++ % fate.length] ?? 0;
      if (what === "lost") return;
      before = before.then(async () => {
        if (what > 0) await new Promise<void>((resolve) => ports.after(what, resolve));
        for (const listen of listeners) listen(JSON.parse(JSON.stringify(message)));
      });
    },
    subscribe: (listen) => {
      listeners.add(listen);
      return () => void listeners.delete(listen);
    },
  };
}

/** Parts of calls that run at once come in any order, when some of them come with the entry of the result. */
function inOrder<Message extends { readonly parts: readonly { readonly type: string }[] }>(message: Message): object {
  const isData = ({ type }: { readonly type: string }): boolean => type === "data-seen";
  const data = message.parts.filter(isData).map((part) => JSON.stringify(part));
  return { ...message, parts: message.parts.filter((part) => !isData(part)), data: data.sort() };
}

test("whatever a bus loses and delays, a page on another process shows what the log has", async () => {
  const streamed = { live: 0, whole: 0 };
  await fc.assert(
    fc.asyncProperty(script, fates, fc.nat({ max: 200 }), async (steps, fate, startMs) => {
      const tools = {
        look: {
          inputSchema: anything,
          execute: async function* (_: unknown, { write }: { readonly write: (part: object) => void }) {
            write({ type: "data-seen", data: { n: 1 } });
            yield "half";
            await new Promise<void>((resolve) => ports.after(100, resolve));
            write({ type: "data-seen", data: { n: 2 } });
            yield "seen";
          },
        },
      };
      const model = scriptedModel(steps, { after: ports.after });
      const agent = defineAgent({ model, tools, modelMaxRetries: 4 } as never);
      const [store, bus] = [memoryStore(), lossyBus(fate)];
      const host = () => AgentHost.create({ agent, store, bus, ports, warn: () => undefined });
      const [one, two] = [host(), host()];
      const asked = await one.ask(T, "Go.");
      const ended = asked.result.catch(() => undefined);
      await new Promise<void>((resolve) => ports.after(startMs, resolve));
      const turn = await resumeTurn(two, T);
      if (turn !== undefined) {
        const { message, errors } = await readBySdk(uiMessageStream(turn.request, turn));
        await ended;
        const loaded = toUIMessages(await one.thread(T)).at(-1);
        expect([inOrder(message), errors]).toEqual([loaded && inOrder(loaded), []]);
        let text = "";
        for await (const { kind, id, data } of turn.request.events()) {
          if (kind === "llm_delta") streamed[id.includes(".log.") ? "whole" : "live"] += 1;
          if (kind === "llm_started" || kind === "llm_retried") text = "";
          if (kind === "llm_delta" && data.type === "text") text += data.text;
          if (kind === "llm_completed") expect(text).toBe(data.text);
        }
      }
      await Promise.all([one.stop(), two.stop()]);
    }),
    { numRuns: 600 },
  );
  expect(streamed.live).toBeGreaterThan(0);
  expect(streamed.whole).toBeGreaterThan(0);
});
