import { RULES, type RuleId, validateMessages } from "heddle/providers";
import { describe, expect, test } from "vitest";
import { EXAMPLES } from "./support/examples.ts";
import { assistant, call, result, user } from "./support/messages.ts";
import { RULE_EXAMPLES } from "./support/rule-examples.ts";

const APIS = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;
const ids = Object.keys(RULES) as RuleId[]; // the keys of a record

describe.each(ids)("%s", (rule) => {
  const { breaks, at, keeps, also = [] } = RULE_EXAMPLES[rule];
  const { providers, trouble } = RULES[rule];

  test.each(APIS)("%s: broken by one list, kept by its neighbor", (api) => {
    const broken = validateMessages(breaks, api).filter((violation) => !also.includes(violation.rule));
    const said = { rule, index: at, message: `messages[${at}]: ${trouble}` };
    expect(broken).toEqual(providers.includes(api) ? [said] : []);
    expect(validateMessages(keeps, api).filter((violation) => violation.rule === rule)).toEqual([]);
  });
});

test.each(APIS)("%s: clean lists of every shape break nothing", (api) => {
  for (const messages of Object.values(EXAMPLES)) expect(validateMessages(messages, api)).toEqual([]);
});

test("an empty list is one violation, of message 0", () => {
  expect(validateMessages([], "anthropic").map(({ rule, index }) => [rule, index])).toEqual([["empty_list", 0]]);
});

test("violations come in the order of the messages and say nothing of the content", () => {
  const list = [assistant("secret", call("secret id!")), user(""), result("secret result")];
  const violations = validateMessages(list, "openai-chat");
  expect(violations.map(({ rule, index }) => `${index} ${rule}`)).toEqual([
    "0 first_not_user",
    "0 missing_result",
    "0 invalid_call_id",
    "1 empty_content",
    "2 orphan_result",
  ]);
  expect(JSON.stringify(violations)).not.toContain("secret");
});

test("an assistant needs text or a call: thinking and files are no answer", () => {
  const thinking = assistant([{ type: "thinking", text: "Hm" }]);
  expect(validateMessages([user("Hi"), thinking, user("Hi")], "gemini").map(({ rule }) => rule)).toEqual([
    "empty_content",
  ]);
});

test("a provider that is none is refused: no list is legal for it", () => {
  expect(() => validateMessages([], "opnai" as never)).toThrow(
    expect.objectContaining({
      name: "ProviderError",
      code: "invalid_options",
      message: 'provider must be one of openai-chat, openai-responses, anthropic, gemini, not "opnai".',
    }),
  );
});
