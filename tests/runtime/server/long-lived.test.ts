import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { anything, stage } from "../support/stage.ts";

test("a server that lives long keeps only the end of its thread in memory, and the log keeps everything", async () => {
  const on = await stage();
  const calls = Array.from({ length: 900 }, (_, n) => ({ id: `c${n}`, name: "look", arguments: {} }));
  const model = scriptedModel([{ calls }, "I have looked.", "It was fine."]);
  const look = { inputSchema: anything, execute: () => "ok" };
  const server = await on.start({ model: model as never, tools: { look } });
  await on.end((await on.end(server.ask("Look around."))).result);
  expect((await server.thread()).firstSeq).toBe(0); // the next call may be shown all of it
  const options = { contextPolicy: { maxInputTokens: 4000, keepLastTurns: 0, maxTurns: 1 } };
  await on.end((await on.end(server.ask("How was it?", options))).result);
  await on.settled();
  expect((await server.thread()).firstSeq).toBeGreaterThan(500);
  const log = await on.log();
  expect(log.length).toBeGreaterThan(900);
  expect((await server.thread()).toArray({ partial: true })).toEqual(log.slice((await server.thread()).firstSeq));
});
