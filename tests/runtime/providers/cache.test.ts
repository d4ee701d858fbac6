import type { Entry } from "heddle";
import { type CallRecord, recordedCall } from "heddle/core";
import { describe, expect, test } from "vitest";
import type { RequestResult } from "../../../src/runtime/request/result.ts";
import { EVERY_WAY } from "./support/models.ts";
import { expectAccepted, proveBodies, stage, weatherIn } from "./support/stage.ts";

describe.each(EVERY_WAY)("$api, $way", (setting) => {
  const { api } = setting;

  test("each call reads more from the provider's cache, and reports its usage", async () => {
    const scene = await stage({ ...setting, options: { cacheMinTokens: 0, bindThinking: true } });
    let steps = 0;
    scene.provider.answer(() =>
      ++steps % 4 === 0
        ? { text: "Sunny." }
        : {
            thinking: "Let me see what the weather is.",
            calls: [weatherIn(`City ${steps}`), weatherIn(`Town ${steps}`)],
          },
    );
    const server = await scene.start({ systemPrompt: "Be brief. ".repeat(100) });
    const results: RequestResult[] = [];
    for (let ask = 1; ask <= 4; ask++) results.push(await (await server.ask(`Weather, for the time ${ask}?`)).result);

    const reads = recordsIn((await server.thread()).toArray()).map(({ usage }) => usage.cacheReadTokens ?? 0);
    expect(reads).toHaveLength(16);
    expect(reads.slice(1).every((read, index) => read >= (reads[index] ?? 0))).toBe(true);
    expect(reads.at(-1)).toBeGreaterThan((reads[1] ?? 0) + 500);

    const given = scene.provider.requests.map(({ usage }) => usage);
    expect(recordsIn((await server.thread()).toArray()).map(({ usage }) => usage)).toEqual(
      given.map((usage) => ({
        inputTokens: usage?.input,
        outputTokens: usage?.output,
        cacheReadTokens: usage?.cacheRead,
        ...(api === "anthropic" ? { cacheWriteTokens: usage?.cacheWrite } : {}),
        // Claude does not say that it has not thought.
        ...(api === "anthropic" && usage?.reasoning === 0 ? {} : { reasoningTokens: usage?.reasoning }),
      })),
    );
    const last = results.at(-1);
    const ofLast = given.slice(-4);
    const sum = (field: "input" | "output" | "reasoning" | "cacheRead" | "cacheWrite"): number =>
      ofLast.reduce((total, usage) => total + (usage?.[field] ?? 0), 0);
    expect(last?.usage).toMatchObject({
      inputTokens: sum("input"),
      outputTokens: sum("output"),
      cacheReadTokens: sum("cacheRead"),
      ...(api === "anthropic" && { cacheWriteTokens: sum("cacheWrite") }),
      reasoningTokens: sum("reasoning"),
    });
    expect(last?.calls.map(({ usage }) => usage.inputTokens)).toEqual(ofLast.map((usage) => usage?.input));

    const marks = scene.provider.requests.map(
      ({ body }) => JSON.stringify(body).match(/"cache_control"/g)?.length ?? 0,
    );
    expect(Math.max(...marks)).toBe(api === "anthropic" ? 4 : 0);
    expect(Math.min(...marks)).toBe(api === "anthropic" ? 2 : 0);
    expectAccepted(scene);
    expect(await proveBodies(scene)).toBe(16);
  });
});

function recordsIn(entries: readonly Entry[]): readonly CallRecord[] {
  return entries.flatMap((entry) => {
    const call = recordedCall(entry);
    return call === undefined ? [] : [call as CallRecord];
  });
}
