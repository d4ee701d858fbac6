import { StoreError } from "./errors.ts";

export function invalidOption(what: string, rule: string): StoreError {
  return new StoreError({ code: "invalid_options", message: `${what} must be ${rule}.` });
}

export function checkSeq(what: string, value: unknown): void {
  if (value !== undefined && !(Number.isSafeInteger(value) && Number(value) >= 0))
    throw invalidOption(what, "a whole number from 0");
}
