import { plainText } from "./plain-json.ts";
import { fieldsIn } from "./raw-part.ts";

/** A warning of any version of the specification in one line. */
export function warningText(warning: unknown): string {
  const { type, feature, setting, tool, details, message } = fieldsIn(warning);
  const named = plainText(feature) || plainText(setting) || plainText(fieldsIn(tool)["name"]);
  const said = plainText(message) || plainText(details);
  const head = type === "other" ? "" : [plainText(type), named].filter((word) => word !== "").join(" ");
  return [head, said].filter((part) => part !== "").join(": ") || "a warning without words";
}
