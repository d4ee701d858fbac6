import { scriptedModel } from "heddle/testing";
import { expect, test } from "vitest";
import { asked, failureOf, generated, Hand, settle, streamed } from "./support/asking.ts";

test("an answer waits before its first delta and between the others, by the timer it was given", async () => {
  const hand = new Hand();
  const model = scriptedModel([{ text: ["a", "b"], delayMs: 50, deltaDelayMs: 7 }], { after: hand.after });
  const { stream } = await model.doStream(asked("hi"));
  const seen: string[] = [];
  const reading = (async () => {
    for await (const part of stream) seen.push("delta" in part ? part.delta : part.type);
  })();
  await settle();
  expect(seen).toEqual(["stream-start", "response-metadata"]);
  await hand.move();
  expect(seen.slice(2)).toEqual(["text-start", "a"]);
  await hand.move();
  await reading;
  expect(seen.slice(4)).toEqual(["b", "text-end", "finish"]);
  expect(hand.waits).toEqual([50, 7]);
});

test("a whole answer and a refusal wait too", async () => {
  const hand = new Hand();
  const model = scriptedModel(
    [
      { text: "a", delayMs: 50 },
      { error: { status: 500 }, delayMs: 60 },
    ],
    { after: hand.after },
  );
  let answered = false;
  const answer = generated(model).then(() => {
    answered = true;
  });
  await settle();
  expect(answered).toBe(false);
  await hand.move();
  await answer;
  expect(answered).toBe(true);
  const refusal = failureOf(streamed(model));
  await settle();
  await hand.move();
  expect(await refusal).toMatchObject({ statusCode: 500 });
  expect(hand.waits).toEqual([50, 60]);
});

test("without a timer of its own it takes the system's", async () => {
  expect((await generated(scriptedModel([{ text: "a", delayMs: 1 }]))).content).toHaveLength(1);
});

test("an abort breaks the stream with its reason, also between two parts", async () => {
  const model = scriptedModel([{ text: ["a", "b"] }]);
  const abort = new AbortController();
  const { stream } = await model.doStream(asked("hi", { abortSignal: abort.signal }));
  const reader = stream.getReader();
  await reader.read();
  const reason = new Error("changed my mind");
  abort.abort(reason);
  expect(await failureOf(reader.read())).toBe(reason);
});

test("an abort ends a wait and calls its timer off", async () => {
  const hand = new Hand();
  const model = scriptedModel(
    [
      { text: "a", delayMs: 50 },
      { text: "a", delayMs: 50 },
    ],
    { after: hand.after },
  );
  for (const attempt of [generated, streamed]) {
    const abort = new AbortController();
    const failure = failureOf(attempt(model, "hi", { abortSignal: abort.signal }));
    await settle();
    abort.abort("enough");
    expect(await failure).toBe("enough");
  }
  expect(hand).toMatchObject({ waits: [50, 50], calledOff: 2 });
});

test("a model that hangs says what it has to say, and ends with the abort", async () => {
  const model = scriptedModel([{ text: "a", hang: true }, { hang: true }]);
  const abort = new AbortController();
  const { stream } = await model.doStream(asked("hi", { abortSignal: abort.signal }));
  const seen: string[] = [];
  const reading = failureOf(
    (async () => {
      for await (const part of stream) seen.push(part.type);
    })(),
  );
  await settle();
  const whole = failureOf(generated(model, "hi", { abortSignal: abort.signal }));
  await settle();
  abort.abort("enough");
  expect(await reading).toBe("enough");
  expect(await whole).toBe("enough");
  expect(seen.at(-1)).toBe("text-end");
});

test("an abort does not wait for a step that is still thinking", async () => {
  const abort = new AbortController();
  const model = scriptedModel([() => new Promise<string>(() => {})]);
  const failure = failureOf(generated(model, "hi", { abortSignal: abort.signal }));
  abort.abort("enough");
  expect(await failure).toBe("enough");
});

test("what is aborted beforehand is not asked, and uses no step", async () => {
  const model = scriptedModel(["a"]);
  expect(await failureOf(generated(model, "hi", { abortSignal: AbortSignal.abort("enough") }))).toBe("enough");
  expect(model.requests).toEqual([]);
  expect((await generated(model)).content).toHaveLength(1);
});

test("a reader that leaves takes the timer with it", async () => {
  const hand = new Hand();
  const model = scriptedModel([{ text: "a", delayMs: 50 }], { after: hand.after });
  const { stream } = await model.doStream(asked("hi"));
  const reader = stream.getReader();
  await reader.read();
  await reader.read();
  const last = reader.read();
  await settle();
  await reader.cancel();
  expect(await last).toEqual({ done: true, value: undefined });
  await settle();
  expect(hand.calledOff).toBe(1);
});

test("nothing happens in a stream without a reader", async () => {
  const hand = new Hand();
  const model = scriptedModel([{ text: "a", delayMs: 50 }], { after: hand.after });
  await model.doStream(asked("hi"));
  await settle();
  expect(hand.waits).toEqual([]);
});
