import { problemOf } from "./source.ts";

const KEY = "heddle.token";
/** The route of an address that lets a browser in, once. */
const ENTER = /^#\/enter\/([\w-]+)$/;

/** For browsers that keep nothing. */
let kept: string | undefined;

/** Of this port alone, and for all its tabs; a cookie would go to every port of the host. */
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
  } catch {} // kept until the page is closed
}

/** The header that every call needs. */
export function authorization(): { readonly authorization?: string } {
  const known = token();
  return known === undefined ? {} : { authorization: `Bearer ${known}` };
}

/** Takes the code out of the address and changes it for the token. Answers why the code was refused. */
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
