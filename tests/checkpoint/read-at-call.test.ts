import { expect, test } from "vitest";
import { mint, type ResumeState, verify } from "../../src/checkpoint/index.ts";
import { config, NOW, OTHER_SECRET, SECRET } from "./support.ts";

test("a token says what state and config said when mint was called", async () => {
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

test("a token is verified by what the config said when verify was called", async () => {
  const bound = { ...config, tokenBind: { tenant: "acme" } };
  const token = await mint({ runId: "run_1", requestId: "req_1", phase: "terminal", context: {} }, bound);
  const changing = { ...config, tokenSecret: [SECRET], tokenBind: { tenant: "acme" } };
  const verifying = verify(token, changing);
  changing.tokenSecret[0] = OTHER_SECRET;
  changing.tokenBind.tenant = "other";
  await expect(verifying).resolves.toMatchObject({ bind: { tenant: "acme" }, iatMs: NOW });
});
