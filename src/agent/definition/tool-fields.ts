/** The fields of a tool. */
const FIELDS: readonly string[] = [
  "inputSchema",
  "description",
  "execute",
  "needsApproval",
  "toModelOutput",
  "repeatable",
  "timeoutMs",
  "maxRetries",
];

/** Those of the AI SDK beside ours; `outputSchema` is no misspelling. */
const OTHERS: ReadonlySet<string> = new Set(["outputSchema", "contextSchema", "onInputStart", "onInputDelta"]);

/** What a newcomer calls a field, and what it is called here. */
const OTHER_NAMES: { readonly [name: string]: string } = {
  requiresapproval: "needsApproval",
  requireapproval: "needsApproval",
  retries: "maxRetries",
};

/** The field that one of nearly the same name was to be; a tool may have any other fields. */
export function meantField(name: string): string | undefined {
  if (FIELDS.includes(name) || OTHERS.has(name)) return undefined;
  const lower = name.toLowerCase();
  if (Object.hasOwn(OTHER_NAMES, lower)) return OTHER_NAMES[lower];
  return FIELDS.find((field) => isNear(lower, field.toLowerCase(), 0.3 * field.length));
}

/** Whether so many letters, put in, taken out or changed, make one word of the other. */
function isNear(a: string, b: string, edits: number): boolean {
  if (a === b) return true;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return isNear(restA, restB, edits);
  if (edits < 1) return false;
  return isNear(restA, b, edits - 1) || isNear(a, restB, edits - 1) || isNear(restA, restB, edits - 1);
}
