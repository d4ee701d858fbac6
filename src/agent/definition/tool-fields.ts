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

/** Fields of the AI SDK's tools, which are no misspellings of ours. */
const OTHERS: ReadonlySet<string> = new Set(["outputSchema", "contextSchema", "onInputStart", "onInputDelta"]);

/** Field names of other libraries, and the name of that field here. */
const OTHER_NAMES: { readonly [name: string]: string } = {
  requiresapproval: "needsApproval",
  requireapproval: "needsApproval",
  retries: "maxRetries",
};

/** The field that a misspelled name stands for, if any. Other unknown fields are allowed. */
export function meantField(name: string): string | undefined {
  if (FIELDS.includes(name) || OTHERS.has(name)) return undefined;
  const lower = name.toLowerCase();
  if (Object.hasOwn(OTHER_NAMES, lower)) return OTHER_NAMES[lower];
  return FIELDS.find((field) => isNear(lower, field.toLowerCase(), 0.3 * field.length));
}

/** Whether the edit distance of two words is at most `edits`. */
function isNear(a: string, b: string, edits: number): boolean {
  if (a === b) return true;
  const [restA, restB] = [a.slice(1), b.slice(1)];
  if (a[0] === b[0]) return isNear(restA, restB, edits);
  if (edits < 1) return false;
  return isNear(restA, b, edits - 1) || isNear(a, restB, edits - 1) || isNear(restA, restB, edits - 1);
}
