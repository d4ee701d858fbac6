import type { Message } from "heddle";
import type { RuleId } from "heddle/providers";
import { assistant, call, failed, pixel, result, system, user } from "./messages.ts";

interface Example {
  readonly breaks: readonly Message[];
  /** The first message that breaks it. */
  readonly at: number;
  /** As near to `breaks` as a legal list can be. */
  readonly keeps: readonly Message[];
  /** Other rules that `breaks` cannot help breaking. */
  readonly also?: readonly RuleId[];
}

const hi = user("Hi");
const text = (text: string) => ({ type: "text", text }) as const;
const blob: Message = user([{ type: "file", mediaType: "image/png", data: { blob: "sha" } }]);
const at = (url: string): Message => user([{ type: "file", mediaType: "image/png", data: { url } }]);

export const RULE_EXAMPLES: { readonly [rule in RuleId]: Example } = {
  empty_list: { breaks: [system("Be brief.")], at: 0, keeps: [system("Be brief."), hi] },
  system_not_first: { breaks: [hi, system("Be brief.")], at: 1, keeps: [system("Be brief."), system("Hm."), hi] },
  first_not_user: { breaks: [system("x"), assistant("Hi"), hi], at: 1, keeps: [system("x"), hi, assistant("Hi"), hi] },
  trailing_assistant: { breaks: [hi, assistant("Hi")], at: 1, keeps: [hi, assistant("Hi"), hi] },
  misplaced_call: {
    breaks: [hi, assistant("Hm"), assistant("", call("a")), result("a")],
    at: 2,
    keeps: [hi, assistant("", call("a")), result("a"), assistant("", call("b")), result("b")],
  },
  missing_result: {
    breaks: [hi, assistant("", call("a"), call("b")), result("a")],
    at: 1,
    keeps: [hi, assistant("", call("a"), call("b")), result("a"), result("b")],
  },
  orphan_result: {
    breaks: [hi, result("a"), hi],
    at: 1,
    keeps: [hi, assistant("", call("a")), result("a"), hi],
  },
  result_not_adjacent: {
    breaks: [hi, assistant("", call("a")), hi, result("a")],
    at: 3,
    keeps: [hi, assistant("", call("a")), result("a"), hi],
  },
  duplicate_call_id: {
    breaks: [hi, assistant("", call("a")), result("a"), assistant("", call("a")), result("a")],
    at: 3,
    keeps: [hi, assistant("", call("a")), result("a"), assistant("", call("b")), result("b")],
  },
  duplicate_result: {
    breaks: [hi, assistant("", call("a")), result("a"), result("a")],
    at: 3,
    keeps: [hi, assistant("", call("a")), result("a")],
  },
  result_order: {
    breaks: [hi, assistant("", call("a"), call("b")), result("b"), result("a")],
    at: 3,
    keeps: [hi, assistant("", call("a"), call("b")), result("a"), result("b")],
  },
  invalid_call_id: {
    breaks: [hi, assistant("", call("x".repeat(41))), result("x".repeat(41))],
    at: 1,
    keeps: [hi, assistant("", call("x".repeat(40))), result("x".repeat(40))],
  },
  invalid_tool_name: {
    breaks: [hi, assistant("", call("a", {}, "get weather")), result("a", "", "get weather")],
    at: 1,
    keeps: [hi, assistant("", call("a", {}, "get-weather")), result("a", "", "get-weather")],
  },
  result_name_mismatch: {
    breaks: [hi, assistant("", call("a")), result("a", "", "wether")],
    at: 2,
    keeps: [hi, assistant("", call("a")), result("a", "", "weather")],
  },
  empty_content: { breaks: [hi, assistant(""), hi], at: 1, keeps: [hi, assistant("", call("a")), result("a", "")] },
  empty_text: {
    breaks: [hi, assistant([text("")], call("a")), result("a")],
    at: 1,
    keeps: [hi, assistant([], call("a")), result("a")],
  },
  whitespace_text: { breaks: [user([text("Hi"), text("\n ")])], at: 0, keeps: [user([text("Hi"), text("\n .")])] },
  trailing_whitespace: {
    breaks: [hi, assistant("Hi ")],
    at: 1,
    keeps: [hi, assistant("Hi "), hi],
    also: ["trailing_assistant"],
  },
  error_result_with_image: {
    breaks: [hi, assistant("", call("a")), failed("a", [pixel])],
    at: 2,
    keeps: [hi, assistant("", call("a")), result("a", [pixel])],
  },
  unresolved_file: { breaks: [hi, blob], at: 1, keeps: [hi, user([pixel])] },
  foreign_provider_call: {
    breaks: [
      hi,
      assistant([
        text("Found."),
        { type: "provider_call", id: "x", name: "search", arguments: {}, metadata: { other: {} } },
      ]),
      hi,
    ],
    at: 1,
    keeps: [hi, assistant([text("Found.")]), hi],
  },
  invalid_file_url: { breaks: [hi, at("a.png")], at: 1, keeps: [hi, at("https://example.com/a.png")] },
};
