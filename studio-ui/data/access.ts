import { problemOf } from "./source.ts";

const KEY = "heddle.token";
/** The route of an address with a one-time code. */
const ENTER = /^#\/enter\/([\w-]+)$/;

/** Keeps the token in memory, for browsers without storage. */
let kept: string | undefined;

/** In localStorage: for this port and all its tabs. A browser sends a cookie to every port of the host. */
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
  } catch {} // no storage: the token is kept until the page is closed
}

/** The header with the token, which every call needs. */
export function authorization(): { readonly authorization?: string } {
  const known = token();
  return known === undefined ? {} : { authorization: `Bearer ${known}` };
}

/** Removes the code from the address and exchanges it for the token. Returns why the code was refused, if it was. */
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
