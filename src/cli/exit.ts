import { failed as httpAnswer } from "../studio/http/failed.ts";
import { type ErrorFacts, HeddleError } from "../thread/errors.ts";

/** What the process ends with; docs/cli.md tells people. */
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

/** Something that the command line itself has to say, or that a server answered; `exit` is what the process ends with. */
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

/** Whoever reads what is written has gone: no error, but nothing more is to be said. */
export class BrokenPipe extends Error {}

/** What HTTP makes of an error says what a shell is to make of it. */
export function exitOf(error: unknown): ExitCode {
  return CliError.isInstance(error) ? error.exit : exitOfStatus(httpAnswer(error).status);
}

/** What an answer of HTTP is to a shell. */
export function exitOfStatus(status: number): ExitCode {
  if (status === 404) return EXIT.notFound;
  if (status === 400 || status === 413) return EXIT.usage;
  return status === 401 || status === 403 || status === 409 ? EXIT.refused : EXIT.failed;
}
