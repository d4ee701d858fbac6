import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** Unused codes that are kept; the oldest is dropped first. */
const MAX_CODES = 1000;

/** Who may call the API: a caller with the token, or, once each, a caller with a code that stands for it. */
export class Access {
  readonly token: string;
  readonly #codes = new Set<string>();

  constructor(token: string) {
    this.token = token;
  }

  isToken(given: string | undefined): boolean {
    return given !== undefined && isSame(given, this.token);
  }

  /** For an address: addresses stay in histories and logs, so a code is good for one use. */
  mintCode(): string {
    const code = randomSecret();
    this.#codes.add(code);
    const [oldest] = this.#codes;
    if (this.#codes.size > MAX_CODES && oldest !== undefined) this.#codes.delete(oldest);
    return code;
  }

  /** Whether the code was good; it is not any more. */
  redeem(code: string): boolean {
    return this.#codes.delete(code);
  }
}

export function randomSecret(): string {
  return randomBytes(24).toString("base64url");
}

/** Takes as long for a guess that is nearly right. */
function isSame(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
