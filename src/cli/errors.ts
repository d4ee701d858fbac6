import { ThreadHeldError } from "../stores/errors.ts";
import { errorResponse as httpAnswer } from "../studio/http/response.ts";
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

type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** An error of the command line, or an error answer of a server. `exit` is the exit code of the process. */
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

/**
 * Thrown when the reader of stdout has closed the pipe, as `head` does. The command then stops writing without an
 * error.
 */
export class BrokenPipe extends Error {}

/** The exit code of an error, derived from its HTTP status. */
export function exitOf(error: unknown): ExitCode {
  return CliError.isInstance(error) ? error.exit : exitOfStatus(httpAnswer(error).status);
}

/** Returns the exit code for the status of a failed HTTP response. */
export function exitOfStatus(status: number): ExitCode {
  if (status === 404) return EXIT.notFound;
  if (status === 400 || status === 413) return EXIT.usage;
  return status === 401 || status === 403 || status === 409 ? EXIT.refused : EXIT.failed;
}

/**
 * Returns the message of an error. If another process holds the thread, the advice is rewritten for users of the
 * command line.
 */
export function adviceOf(error: HeddleError): string {
  if (!ThreadHeldError.isInstance(error)) return error.message;
  const { threadId } = error;
  return (
    `Another process runs thread ${threadId}. Wait until it ends, or watch it: heddle show ${threadId} --follow. ` +
    "If a Studio runs it, name that Studio with --server."
  );
}
