import { AgentServer, defineAgent, memoryStore, type RequestError, type ThreadStore } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expect, onTestFinished, test } from "vitest";
import { anything, gate, stage } from "../support/stage.ts";

/** A store that says when it is given the end of a request, and waits. */
function slowAtTheEnd() {
  const { promise: ending, resolve: end } = gate();
  const { promise: released, resolve: release } = gate();
  const memory = memoryStore();
  const append: ThreadStore["append"] = async (id, entries, options) => {
    const list = Array.isArray(entries) ? entries : [entries];
    if (list.some(({ payload }) => "end" in Object(payload))) {
      end();
      await released;
    }
    return memory.append(id, entries, options);
  };
  return { store: { ...memory, append }, ending, release };
}

test("a cancel that comes when the answer is being written says that it had no effect", async () => {
  const { store, ending, release } = slowAtTheEnd();
  const server = await AgentServer.start({ agent: defineAgent({ model: scriptedModel(["Yes."]) }), store });
  onTestFinished(() => server.stop());
  const request = await server.ask("Is it so?");
  await ending;
  const cancelled = server.cancel(request.id);
  release();
  expect((await request.result).text).toBe("Yes.");
  expect(await cancelled).toBe(false);
});

const CITY = '{"city":"Bern"}';

/** What is left of an ask that comes so many microtasks after the model has answered the one before. */
async function askedAfter(ticks: number, refusal: string | undefined) {
  const on = await stage();
  const { promise: opened, resolve: open } = gate();
  const small = scriptedModel([() => opened.then(() => "One.")]);
  const look = { inputSchema: anything, execute: (_: unknown, { context }: { readonly context: object }) => context };
  const large = scriptedModel([{ expect: { system: "In Bern.", tools: ["look"] }, calls: [{ name: "look" }] }, "Two."]);
  const server = await on.start({
    model: "small",
    models: { small, large },
    systemPrompt: ({ city }: { readonly city: string }) => `In ${city}.`,
    accept: (_: object, { content }: { readonly content: unknown }) => (content === "First?" ? undefined : refusal),
  } as never);
  const first = await on.end(server.ask("First?", { context: { city: "Rome" } } as never));
  await on.settled();
  open();
  for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
  const options = { model: "large", context: { city: "Bern" }, tools: { look }, headers: { team: "a" } };
  const answer = server.ask("Second?", options as never).then((request) => request.result);
  const outcome = await on.end(
    answer.then(
      ({ text }) => text,
      (error: RequestError) => error.failure?.message ?? error.code,
    ),
  );
  await on.end(first.result);
  const contents = (await on.log()).slice(2).map(({ payload }) => Object(payload).content);
  const teams = large.requests.map(({ options: { headers } }) => Object(headers).team);
  return { outcome, contents, teams };
}

const BUSY = { outcome: "busy", contents: [], teams: [] };

test.each([
  ["has all its values", undefined, { outcome: "Two.", contents: ["Second?", "", CITY, "Two."], teams: ["a", "a"] }],
  ["is refused by the agent", "No.", { outcome: "not_accepted", contents: [], teams: [] }],
])("an ask at any moment of the end of a request is busy, or %s", async (_what, refusal, after) => {
  const asked: Awaited<ReturnType<typeof askedAfter>>[] = [BUSY];
  for (let ticks = 0; ticks < 1_000 && asked.at(-20)?.outcome !== after.outcome; ticks++) {
    asked.push(await askedAfter(ticks, refusal));
  }
  const busy = asked.filter(({ outcome }) => outcome === "busy").length;
  expect(asked).toEqual(asked.map((_, index) => (index < busy ? BUSY : after)));
  expect(busy).toBeLessThan(asked.length);
});
