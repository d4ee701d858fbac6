import { type CompletedExchange, defineAgent, hasToolCall, react, type StopCondition } from "heddle";
import { scriptedModel } from "heddle/testing";
import { expectTypeOf, test } from "vitest";

const model = scriptedModel([]);

test("stopWhen is a function of the exchange, or a list of them", () => {
  defineAgent({
    model,
    stopWhen: (exchange) => {
      expectTypeOf(exchange).toEqualTypeOf<CompletedExchange>();
      return true;
    },
  });
  defineAgent({ model, stopWhen: [hasToolCall("done"), ({ iteration, usage }) => iteration > 2 && usage !== null] });
  void react.run("Go.", { model, stopWhen: ({ results }) => results.some(({ isError }) => isError) });
  expectTypeOf(hasToolCall("done")).toEqualTypeOf<StopCondition>();
});

test("it answers at once", () => {
  // @ts-expect-error a promise is no answer
  defineAgent({ model, stopWhen: async () => true });
  // @ts-expect-error a number is no function
  defineAgent({ model, stopWhen: 3 });
});
