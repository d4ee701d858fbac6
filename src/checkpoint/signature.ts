import { base64url } from "../thread/base64url.ts";

const HMAC = { name: "HMAC", hash: "SHA-256" } as const;
const encoder = new TextEncoder();

export async function sign(text: string, secret: string): Promise<string> {
  const signature = await crypto.subtle.sign(HMAC, await keyOf(secret, "sign"), encoder.encode(text));
  return base64url(new Uint8Array(signature));
}

/** Whether one of the secrets signed the text. Tries all secrets in constant time, so that the timing reveals nothing. */
export async function isSigned(
  text: string,
  signature: Uint8Array<ArrayBuffer>,
  secrets: readonly string[],
): Promise<boolean> {
  const bytes = encoder.encode(text);
  const answers = await Promise.all(
    secrets.map(async (secret) => crypto.subtle.verify(HMAC, await keyOf(secret, "verify"), signature, bytes)),
  );
  return answers.includes(true);
}

function keyOf(secret: string, usage: "sign" | "verify"): ReturnType<typeof crypto.subtle.importKey> {
  return crypto.subtle.importKey("raw", encoder.encode(secret), HMAC, false, [usage]);
}
