/** The error of a failed specification. Has both values as fields, so that a test runner can show a diff. */
export class SpecificationFailure extends Error {
  override readonly name = "SpecificationFailure";
  readonly expected: unknown;
  readonly actual: unknown;
  /** Makes test runners show a diff. */
  readonly showDiff = true;

  constructor(message: string, expected?: unknown, actual?: unknown) {
    super(message);
    this.expected = expected;
    this.actual = actual;
  }
}
