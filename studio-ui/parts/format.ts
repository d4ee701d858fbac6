const numbers = new Intl.NumberFormat("en");
const clock = new Intl.DateTimeFormat("en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false });
const day = new Intl.DateTimeFormat("en", { month: "short", day: "numeric" });
const full = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "medium", hour12: false });

export const count = (value: number) => numbers.format(value);
export const time = (at: number) => clock.format(at);
export const moment = (at: number) => full.format(at);
export const plural = (n: number, one: string, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;
export const percent = (share: number) => `${Math.round(share * 100)} %`;

/** Formats the time since `at` briefly, for example "5 min". */
export function ago(at: number, now: number): string {
  const seconds = Math.max(0, Math.round((now - at) / 1000));
  if (seconds < 45) return "now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h`;
  return seconds < 7 * 86_400 ? `${Math.round(seconds / 86_400)} d` : day.format(at);
}

/** Shortens a long id to its last 8 characters. An id starts with a time, which many ids share. */
export const shortId = (id: string) => (id.length <= 14 ? id : `…${id.slice(-8)}`);

/** Returns the first `most` characters of a text, without splitting a surrogate pair. */
export function cut(text: string, most: number): string {
  return /[\uD800-\uDBFF]$/.test(text.slice(0, most)) ? text.slice(0, most - 1) : text.slice(0, most);
}

export function oneLine(text: string, most = 240): string {
  const line = cut(text, most * 2)
    .replace(/\s+/g, " ")
    .trim();
  return line.length > most ? `${cut(line, most)}…` : line;
}
