/** A mutant that changes nothing a caller can see. `npm run mutate` counts it apart and prints why. */
interface EquivalentMutant {
  readonly path: string;
  /** The first line of the mutated code, without indentation. */
  readonly line: string;
  /** The code that the mutant replaces, and what it puts there. */
  readonly from: string;
  readonly to: string;
  readonly why: string;
}

export const EQUIVALENT_MUTANTS: readonly EquivalentMutant[] = [
  {
    path: "src/studio/http/guard.ts",
    line: "if (code !== null && isDownload(request, url) && access.redeem(code)) return;",
    from: "code !== null",
    to: "true",
    why: "`null` is never a minted code, so `redeem` refuses it too.",
  },
  {
    path: "src/studio/http/guard.ts",
    line: "if (this.#codes.size > MAX_CODES && oldest !== undefined) this.#codes.delete(oldest);",
    from: "oldest !== undefined",
    to: "true",
    why: "A set with more than MAX_CODES codes has an oldest one. The check is for the type.",
  },
  {
    path: "src/stores/decide/append.ts",
    line: "const start = entries[0]?.seq ?? 0;",
    from: "entries[0]?.seq",
    to: "entries[0].seq",
    why: "A retry has at least one known entry. The `?.` is for the type.",
  },
  {
    path: "src/stores/decide/append.ts",
    line: "entries.every(({ id, seq }, i) => id === batch[i]?.draft.id && seq === start + i);",
    from: "batch[i]?.draft",
    to: "batch[i].draft",
    why: "The batch has as many drafts as there are entries, which is checked before.",
  },
  {
    path: "src/stores/decide/append.ts",
    line: "options.metadata === undefined ? start.metadata : Object.freeze({ ...start.metadata, ...options.metadata });",
    from: "options.metadata === undefined",
    to: "false",
    why: "Merging `undefined` copies the same metadata.",
  },
  {
    path: "src/checkpoint/resume-tokens.ts",
    line: 'return crypto.subtle.importKey("raw", encoder.encode(secret), HMAC, false, [usage]);',
    from: "false",
    to: "true",
    why: "The key is never passed out of the module, so no caller can export it.",
  },
  {
    path: "src/agent/react/settings.ts",
    line: "maxIterations: true,",
    from: "true",
    to: "false",
    why: "Only the keys of this table are read.",
  },
  {
    path: "src/projection/window/window.ts",
    line: "const shown = openers.length - opened + (opener !== undefined && opener < first ? 1 : 0); // a turn that is shown in part counts as a turn",
    from: "opener !== undefined",
    to: "true",
    why: "`undefined < first` is false. The check is for the type.",
  },
  {
    path: "src/projection/window/window-costs.ts",
    line: "return (block?.earlierIds ?? -1) < start",
    from: "-1",
    to: "+1",
    why: "The index always names a block. The default is for the type.",
  },
  {
    path: "src/projection/window/window-costs.ts",
    line: "return (block?.earlierIds ?? -1) < start",
    from: "block?.earlierIds",
    to: "block.earlierIds",
    why: "The index always names a block. The `?.` is for the type.",
  },
  {
    path: "src/projection/window/window-costs.ts",
    line: "if (index >= origin) return extended(this.#up, index - origin, (step) => this.#term(origin + step - 1));",
    from: "index >= origin",
    to: "index > origin",
    why: "At the origin both lists give 0: the sum of no terms.",
  },
  {
    path: "src/projection/window/window-costs.ts",
    line: "if (earlierIds >= 0) this.#tokens.invalidate(earlierIds);",
    from: "earlierIds >= 0",
    to: "true",
    why: "For a block that repeats no id, all sums are dropped and computed again with the same result.",
  },
];
