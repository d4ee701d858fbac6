/** A moment: a date, milliseconds from now, or a text in ISO 8601 with a time zone, such as `2026-11-24T09:00:00Z`. */
// biome-ignore lint/style/noRestrictedGlobals: a value of the caller, not a clock
export type Time = Date | number | string;

/** The rule that every Time follows, for messages. */
export const TIME_RULE =
  'must be a date, a number of milliseconds above 0, or a text such as "2026-11-24T09:00:00Z" with its time zone';

/** Without a zone the time would depend on the machine, and a day without a time would be one in UTC. */
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

/** In whole milliseconds since 1970. Undefined for a value that is no time. */
export function timeOf(given: unknown, now: number): number | undefined {
  const at = millisecondsOf(given, now);
  return Number.isSafeInteger(at) && at >= 0 ? at : undefined;
}

function millisecondsOf(given: unknown, now: number): number {
  // biome-ignore lint/style/noRestrictedGlobals: a value of the caller, not a clock
  if (given instanceof Date) return given.getTime();
  if (typeof given === "number") return given > 0 ? now + Math.ceil(given) : Number.NaN;
  // biome-ignore lint/style/noRestrictedGlobals: with a time zone, the text alone decides
  return typeof given === "string" && ISO.test(given) ? Date.parse(given) : Number.NaN;
}

/** A time as a text, for stored data. */
export function isoOf(at: number): string {
  // biome-ignore lint/style/noRestrictedGlobals: a form of the time that is given, not a clock
  return new Date(at).toISOString();
}
