/** An expected value: any part of an object, a complete list, or a matcher of the test runner. */
export type Partly<T = unknown> = T extends readonly (infer Item)[]
  ? readonly Partly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]?: Partly<T[Key]> | AsymmetricMatcher }
    : T | AsymmetricMatcher;

/** Such as `expect.any(String)` of vitest and jest. */
export interface AsymmetricMatcher {
  asymmetricMatch(value: unknown): boolean;
}

/** The differences between a value and its expectation, one line each. */
export function mismatches(actual: unknown, expected: unknown, path: string): readonly string[] {
  if (Object.is(actual, expected)) return [];
  if (isMatcher(expected)) return expected.asymmetricMatch(actual) ? [] : [line(path, String(expected), actual)];
  if (Array.isArray(expected)) return inList(actual, expected, path);
  if (!isObject(expected) || !isObject(actual)) return [line(path, show(expected), actual)];
  return Object.entries(expected).flatMap(([key, value]) => mismatches(actual[key], value, `${path}.${key}`));
}

/** The parts of a value that the expectation names, for a diff. */
export function shown(actual: unknown, expected: unknown): unknown {
  if (Array.isArray(expected) && Array.isArray(actual)) return actual.map((item, at) => shown(item, expected[at]));
  if (!isObject(expected) || !isObject(actual) || isMatcher(expected)) return actual;
  return Object.fromEntries(Object.keys(expected).map((key) => [key, shown(actual[key], expected[key])]));
}

function inList(actual: unknown, expected: readonly unknown[], path: string): readonly string[] {
  if (!Array.isArray(actual)) return [line(path, show(expected), actual)];
  const length = Math.max(actual.length, expected.length);
  return Array.from({ length }, (_, at) => {
    if (at >= expected.length) return [line(`${path}[${at}]`, "nothing", actual[at])];
    return mismatches(actual[at], expected[at], `${path}[${at}]`);
  }).flat();
}

function line(path: string, expected: string, actual: unknown): string {
  return `${path}: expected ${expected}, got ${show(actual)}`;
}

export function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

function isMatcher(value: unknown): value is AsymmetricMatcher {
  return isObject(value) && typeof value["asymmetricMatch"] === "function";
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
