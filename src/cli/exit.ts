import { failed as httpAnswer } from "../studio/http/failed.ts";
import { type ErrorFacts, HeddleError } from "../thread/errors.ts";

/** The exit codes of the process. docs/cli.md lists them for users. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  refused: 4,
  suspended: 5,
  interrupted: 130,
  terminated: 143,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error of the command line itself, or one that a server answered. `exit` is the exit code of the process. */
export class CliError extends HeddleError {
  static override readonly className: string = "CliError";
  readonly exit: ExitCode;

  constructor({ exit, ...facts }: ErrorFacts & { readonly exit: ExitCode }) {
    super(facts);
    this.exit = exit;
  }
}

export function badUsage(message: string): CliError {
  return new CliError({ code: "bad_usage", exit: EXIT.usage, message });
}

/** The reader of stdout has closed the pipe. This is no failure: the command stops writing. */
export class BrokenPipe extends Error {}

/** The exit code of an error, derived from its HTTP status. */
export function exitOf(error: unknown): ExitCode {
  return CliError.isInstance(error) ? error.exit : exitOfStatus(httpAnswer(error).status);
}

/** The exit code for the status of a failed HTTP answer. */
export function exitOfStatus(status: number): ExitCode {
  if (status === 404) return EXIT.notFound;
  if (status === 400 || status === 413) return EXIT.usage;
  return status === 401 || status === 403 || status === 409 ? EXIT.refused : EXIT.failed;
}
