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
  return FIELDS.find((field) => edits(lower, field.toLowerCase()) <= 0.3 * field.length);
}

/** How many letters have to be put in, taken out or changed to make one word of the other. */
function edits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [index, letter] of [...from].entries()) {
    const next = [index + 1];
    for (let at = 1; at <= to.length; at++) {
      const changed = (row[at - 1] ?? 0) + (letter === to[at - 1] ? 0 : 1);
      next.push(Math.min((row[at] ?? 0) + 1, (next[at - 1] ?? 0) + 1, changed));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}
