import { problemOf } from "./source.ts";

const KEY = "heddle.token";
/** The URL hash with a one-time code. */
const ENTER = /^#\/enter\/([\w-]+)$/;

/** The token in memory, for browsers without localStorage. */
let kept: string | undefined;

/** Reads the token from localStorage, which belongs to one port. A cookie would be sent to every port of the host. */
export function token(): string | undefined {
  try {
    return localStorage.getItem(KEY) ?? kept;
  } catch {
    return kept;
  }
}

export function keepToken(text: string): void {
  kept = text;
  try {
    localStorage.setItem(KEY, text);
  } catch {} // no localStorage: the token is lost when the page closes
}

/** Returns the header that carries the token. Every API call needs it. */
export function authorization(): { readonly authorization?: string } {
  const known = token();
  return known === undefined ? {} : { authorization: `Bearer ${known}` };
}

/**
 * Removes the one-time code from the URL and exchanges it for the token. Returns an error message if the server refuses
 * the code.
 */
export async function enter(): Promise<string | undefined> {
  const code = ENTER.exec(location.hash)?.[1];
  if (code === undefined) return undefined;
  history.replaceState(null, "", "#/");
  try {
    const headers = { "content-type": "application/json" };
    const response = await fetch("/api/enter", { method: "POST", headers, body: JSON.stringify({ code }) });
    const answer = (await response.json()) as { token?: string; error?: { message: string } };
    if (answer.token !== undefined) keepToken(answer.token);
    return answer.error?.message;
  } catch (error) {
    return problemOf(error).message;
  }
}
