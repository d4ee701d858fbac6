/** What a specification that does not hold throws: both sides as fields, so that a runner can show a diff. */
export class SpecificationFailure extends Error {
  override readonly name = "SpecificationFailure";
  readonly expected: unknown;
  readonly actual: unknown;
  /** Asks runners for a diff. */
  readonly showDiff = true;

  constructor(message: string, expected?: unknown, actual?: unknown) {
    super(message);
    this.expected = expected;
    this.actual = actual;
  }
}
