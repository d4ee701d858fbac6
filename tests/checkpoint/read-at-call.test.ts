import { expect, test } from "vitest";
import type { ResumeState } from "../../src/checkpoint/payload.ts";
import { mint, verify } from "../../src/checkpoint/resume-tokens.ts";
import { config, NOW, OTHER_SECRET, SECRET } from "./support.ts";

test("a token contains the state and config at the time of mint", async () => {
  const context = { steps: [1] };
  const state: ResumeState = { runId: "run_1", requestId: "req_1", phase: "after_llm", context };
  const changing = { ...config, tokenSecret: [SECRET], tokenBind: { tenant: "acme" } };
  const minting = mint(state, changing);
  context.steps.push(2);
  changing.tokenSecret[0] = OTHER_SECRET;
  changing.tokenBind.tenant = "other";
  const verified = await verify(await minting, { ...config, tokenBind: { tenant: "acme" } });
  expect(verified.state.context).toEqual({ steps: [1] });
});

test("a token is verified with the config at the time of verify", async () => {
  const bound = { ...config, tokenBind: { tenant: "acme" } };
  const token = await mint({ runId: "run_1", requestId: "req_1", phase: "terminal", context: {} }, bound);
  const changing = { ...config, tokenSecret: [SECRET], tokenBind: { tenant: "acme" } };
  const verifying = verify(token, changing);
  changing.tokenSecret[0] = OTHER_SECRET;
  changing.tokenBind.tenant = "other";
  await expect(verifying).resolves.toMatchObject({ bind: { tenant: "acme" }, iatMs: NOW });
});
