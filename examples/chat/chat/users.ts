// A login without passwords, to try the chat. Put your own login in its place: all that the rest needs is `userOf`.
import { createHmac, timingSafeEqual } from "node:crypto";

const secret = process.env["CHAT_SECRET"] ?? "only for development";

function signatureOf(user: string): string {
  return createHmac("sha256", secret).update(user).digest("base64url");
}

/** The cookie of a user. */
export function cookieOf(user: string): string {
  const value = `${encodeURIComponent(user)}.${signatureOf(user)}`;
  return `user=${value}; Path=/; HttpOnly; SameSite=Lax; Max-Age=2592000`;
}

/** The user that has signed in. */
export function userOf({ headers }: Request): string | undefined {
  const [, name = "", signature = ""] = /(?:^|; )user=([^.;]+)\.([\w-]+)/.exec(headers.get("cookie") ?? "") ?? [];
  const user = decodeURIComponent(name);
  const [given, right] = [Buffer.from(signature), Buffer.from(signatureOf(user))];
  return given.length === right.length && timingSafeEqual(given, right) ? user : undefined;
}
