import { HeddleError } from "../../../src/thread/errors.ts";

/** What a call gives or refuses with, as something to compare. */
export function outcome<T>(call: () => T): { readonly value: T } | { readonly refused: string } {
  try {
    return { value: call() };
  } catch (error) {
    if (!HeddleError.isInstance(error)) throw error; // a crash is no answer
    return { refused: error.code };
  }
}
