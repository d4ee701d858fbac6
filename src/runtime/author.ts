import { isPlainObject } from "../thread/json.ts";
import type { Author } from "../thread/message.ts";
import { RequestError } from "./request/request-error.ts";

/** A checked copy of the author of a message. */
export function checkAuthor(given: unknown): Author {
  const { id, name, ...others }: { readonly [field: string]: unknown } = isPlainObject(given) ? given : {};
  const isAuthor = isName(id) && (name === undefined || isName(name)) && Object.keys(others).length === 0;
  if (isAuthor) return { id, ...(name !== undefined && { name }) };
  const message =
    "author must be { id, name? }: texts of 1 to 256 characters without control characters, which are not blank.";
  throw new RequestError({ code: "invalid_options", message });
}

function isName(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.trim() !== "" &&
    value.length <= 256 &&
    value.isWellFormed() &&
    !/[\p{Cc}\u2028\u2029]/u.test(value)
  );
}
