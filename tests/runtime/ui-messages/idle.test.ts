import { uiMessageStream, uiMessageStreamResponse } from "heddle/ai-sdk";
import { expect, test } from "vitest";
import { careful, house, PAY } from "../host/support/hosts.ts";

test.each([
  [
    "a stream",
    async (stream: Parameters<typeof uiMessageStream>[0]) => void (await Array.fromAsync(uiMessageStream(stream))),
  ],
  [
    "a response",
    async (stream: Parameters<typeof uiMessageStream>[0]) => void (await uiMessageStreamResponse(stream).text()),
  ],
])("%s of a request that waits keeps its thread only as long as it is read", async (_, read) => {
  const at = await house();
  const host = at.host({ agent: careful([PAY]).agent, idleMs: 1_000 });
  const request = await at.end(host.ask("t1", "Pay"));
  await at.end(read(request));
  expect([request.state, host.size]).toEqual(["waiting", 1]);
  await at.pass(5_000);
  expect(host.size).toBe(0);
  await at.end(host.stop());
});
