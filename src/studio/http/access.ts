import { createHash, randomBytes, timingSafeEqual } from "node:crypto";

/** How many unused codes are kept. The oldest is dropped first. */
const MAX_CODES = 1000;

/** Access to the API: by the token, or by a code, which works once. */
export class Access {
  readonly token: string;
  readonly #codes = new Set<string>();

  constructor(token: string) {
    this.token = token;
  }

  isToken(given: string | undefined): boolean {
    return given !== undefined && isSame(given, this.token);
  }

  /** Makes a code for an address. Addresses stay in histories and logs, so a code works only once. */
  mintCode(): string {
    const code = randomSecret();
    this.#codes.add(code);
    const [oldest] = this.#codes;
    if (this.#codes.size > MAX_CODES && oldest !== undefined) this.#codes.delete(oldest);
    return code;
  }

  /** Uses up a code. Returns whether it was valid. */
  redeem(code: string): boolean {
    return this.#codes.delete(code);
  }
}

export function randomSecret(): string {
  return randomBytes(24).toString("base64url");
}

/** Compares in constant time, so that timing says nothing about the token. */
function isSame(a: string, b: string): boolean {
  const hash = (text: string): Buffer => createHash("sha256").update(text).digest();
  return timingSafeEqual(hash(a), hash(b));
}
