import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { stage } from "../support/stage.ts";

interface Shown {
  readonly system?: string | undefined;
  readonly messages: readonly { readonly text?: string | undefined }[];
}

const shown = ({ system = "", messages }: Shown) => system + messages.map(({ text = "" }) => text).join("\n");
const facts = (text: string) => [...new Set(text.match(/FACT\d+;/g))];

test("a summarizer that carries over every fact that it is shown loses none in a long conversation", async () => {
  const on = await stage();
  const clerk = scriptedModel(Array(20).fill((request: Shown) => `Known: ${facts(shown(request)).join(" ")}`));
  const words = "The wind howls in the old tower and a wolf answers it. ".repeat(4);
  const model = scriptedModel(Array.from({ length: 200 }, (_, index) => `${words}FACT${index}; ${words}`));
  const contextPolicy = { maxInputTokens: 16_000, autoSummarize: true, summarizationModel: "clerk" };
  const server = await on.start({ model, models: { clerk }, contextPolicy } as never);
  for (let turn = 0; turn < 200; turn++) await on.end((await on.end(server.ask(`Step ${turn}.`))).result);
  expect(clerk.requests.length).toBeGreaterThan(1);
  for (const request of clerk.requests) expect(shown(request)).not.toContain("bytes left out here");
  expect(facts(model.requests.map(shown).at(-1) ?? "")).toHaveLength(199);
});
