import type { FeedEntry, FeedItem } from "../stores/port.ts";
import { HeddleError } from "../thread/errors.ts";

/** The error of a failed check. Has both values as fields, so that a test runner can show a diff. */
export class ContractFailure extends Error {
  override readonly name = "ContractFailure";
  readonly expected: unknown;
  readonly actual: unknown;

  constructor(message: string, expected?: unknown, actual?: unknown, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.expected = expected;
    this.actual = actual;
  }
}

/** Checks for equal data. Ignores undefined properties and the order of keys. */
export function equal(actual: unknown, expected: unknown, what: string): void {
  const difference = firstDifference(actual, expected, what);
  if (difference !== undefined) throw new ContractFailure(difference, expected, actual);
}

/** Checks for equal JSON text, including the order of keys. */
export function sameJsonText(actual: unknown, expected: unknown, what: string): void {
  equal(actual, expected, what);
  if (JSON.stringify(actual) !== JSON.stringify(expected))
    throw new ContractFailure(`${what}: the same data, but not the same JSON text`, expected, actual);
}

export function ok(condition: boolean, what: string): asserts condition {
  if (!condition) throw new ContractFailure(`check failed: ${what}`, true, false);
}

/** Returns the value. Fails if it is undefined. */
export function present<Value>(value: Value | undefined, what: string): Value {
  if (value === undefined) throw new ContractFailure(`${what} is missing`);
  return value;
}

/** Checks that the attempt fails with a HeddleError that has this code and these fields. */
export async function rejects(
  attempt: Promise<unknown>,
  facts: { readonly code: string; readonly [fact: string]: unknown },
  what: string,
): Promise<HeddleError> {
  const outcome = await attempt.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ("value" in outcome) throw new ContractFailure(`${what}: succeeded, expected the error ${facts.code}`, facts);
  const { error } = outcome;
  if (!HeddleError.isInstance(error))
    throw new ContractFailure(`${what}: expected ${facts.code}, got ${String(error)}`, facts, error, error);
  const found = Object.fromEntries(Object.keys(facts).map((fact) => [fact, Reflect.get(error, fact)]));
  const difference = firstDifference(found, facts, "error");
  if (difference !== undefined) throw new ContractFailure(`${what}: ${difference}`, facts, found, error);
  return error;
}

function firstDifference(actual: unknown, expected: unknown, path: string): string | undefined {
  if (Object.is(actual, expected)) return undefined;
  if (!isObject(actual) || !isObject(expected) || Array.isArray(actual) !== Array.isArray(expected))
    return `${path}: expected ${show(expected)}, got ${show(actual)}`;
  if (Array.isArray(actual) && Array.isArray(expected) && actual.length !== expected.length)
    return `${path}: expected ${expected.length} items, got ${actual.length}`;
  for (const key of new Set([...Object.keys(expected), ...Object.keys(actual)])) {
    const inner = Array.isArray(actual) ? `${path}[${key}]` : `${path}.${key}`;
    const difference = firstDifference(own(actual, key), own(expected, key), inner);
    if (difference !== undefined) return difference;
  }
  return undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}

/** Reads own properties only, so that `__proto__` is treated like any other key. */
function own(value: object, key: string): unknown {
  return Object.getOwnPropertyDescriptor(value, key)?.value;
}

function show(value: unknown): string {
  const text = typeof value === "bigint" ? `${value}n` : (JSON.stringify(value) ?? String(value));
  return text.length > 200 ? `${text.slice(0, 200)}... (${text.length} characters)` : text;
}

/** Collects all items of an iterable. */
export async function allItems<Item>(source: AsyncIterable<Item>): Promise<Item[]> {
  return firstItems(Number.POSITIVE_INFINITY, source);
}

/** Collects the first `count` items, then closes the iterable. */
export async function firstItems<Item>(count: number, source: AsyncIterable<Item>): Promise<Item[]> {
  const items: Item[] = [];
  if (count === 0) return items;
  for await (const item of source) {
    items.push(item);
    if (items.length === count) break;
    // Yields to the event loop, so that the timeout can end a case whose store never stops.
    if (items.length % 1000 === 0) await shortPause();
  }
  return items;
}

/** Collects the first `count` entries of a feed, without its other items. */
export function firstEntries(count: number, feed: AsyncIterable<FeedItem>): Promise<FeedEntry[]> {
  return firstItems(count, entriesOf(feed));
}

async function* entriesOf(feed: AsyncIterable<FeedItem>): AsyncIterable<FeedEntry> {
  for await (const item of feed) if (item.type === "entry") yield item;
}

/** Calls `ask` until it returns a value. The timeout of the case limits the wait. */
export async function until<Answer>(ask: () => Promise<Answer | undefined>): Promise<Answer> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await shortPause();
  }
}

/** Yields to the event loop for a short time. */
export async function shortPause(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 2));
}
