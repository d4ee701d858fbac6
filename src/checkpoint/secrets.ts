import { SHORTEST_SECRET, secretTrouble } from "../agent/definition/token-checks.ts";
import { base64url } from "../thread/base64url.ts";
import { systemRandom } from "../thread/ports.ts";
import { invalidOption } from "./error.ts";

/** One secret, or a list: the first signs and all verify. Each needs at least 32 bytes. */
export type TokenSecret = string | readonly string[];

/** The checked secrets. The first one signs. */
export type Secrets = readonly [string, ...string[]];

/** Called with a warning for the operator of the program. */
export type Warn = (message: string) => void;

const WARNING =
  "No tokenSecret is set: resume tokens are signed with a random secret and are valid only in this process. " +
  `Set tokenSecret to a secret of ${SHORTEST_SECRET} bytes or more.`;

// Kept for the whole process, so that tokens minted without a secret verify later in the same process.
let ofThisProcess: string | undefined;
let warned = false;

export function secretsOf(given: TokenSecret | undefined, warn: Warn | undefined): Secrets {
  if (given === undefined) return [processSecret(warn)];
  if (typeof given === "string" || !Array.isArray(given)) return [checkSecret(given, "tokenSecret")];
  const [first, ...others] = given.map((secret: unknown, index) => checkSecret(secret, `tokenSecret[${index}]`));
  if (first === undefined) throw invalidOption("tokenSecret", "is an empty list; the first of it signs");
  return [first, ...others];
}

function checkSecret(secret: unknown, path: string): string {
  const trouble = secretTrouble(secret);
  if (trouble === undefined) return secret as string; // secretTrouble has checked the type
  throw invalidOption(path, trouble);
}

function processSecret(warn: Warn | undefined): string {
  ofThisProcess ??= base64url(systemRandom(SHORTEST_SECRET));
  if (!warned && warn !== undefined) {
    warned = true;
    warn(WARNING);
  }
  return ofThisProcess;
}
