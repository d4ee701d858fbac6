import { callsOf, exchangesOf } from "./exchanges.ts";
import { everywhere, only, type Rule } from "./rule.ts";

/** Anthropic accepts 64 characters and OpenAI 40. Anthropic refuses other characters. */
const CALL_ID = /^[A-Za-z0-9_-]{1,40}$/;
const TOOL_NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Rules about ids and names of calls and results. */
export const nameRules = {
  invalid_call_id: everywhere("the id of a call must be 1 to 40 of A-Z a-z 0-9 _ -.", (messages) =>
    messages.findIndex((message) => callsOf(message).some(({ id }) => !CALL_ID.test(id))),
  ),
  invalid_tool_name: everywhere("the name of a called tool must be 1 to 64 of A-Z a-z 0-9 _ -.", (messages) =>
    messages.findIndex((message) => callsOf(message).some(({ name }) => !TOOL_NAME.test(name))),
  ),
  /** Gemini matches a result by the name of the function. */
  result_name_mismatch: only("gemini", "a result must name the tool that was called.", (messages) => {
    const wrong = exchangesOf(messages).flatMap(({ calls, own }) =>
      own.filter(({ id, name }) => calls.find((call) => call.id === id)?.name !== name),
    );
    return wrong[0]?.index ?? -1;
  }),
} satisfies { [rule: string]: Rule };
