import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { problemOf } from "../data/source.ts";

/** Something that is on its way, there, or refused. */
export type Loaded<T> =
  | { readonly state: "loading" }
  | { readonly state: "there"; readonly value: T }
  | { readonly state: "failed"; readonly code: string; readonly message: string };

export const LOADING = { state: "loading" } as const;

export function failed(error: unknown): Loaded<never> {
  return { state: "failed", ...problemOf(error) };
}

/** Loads again whenever `key` changes; what comes late for an older key is dropped. */
export function useLoaded<T>(key: string, load: () => Promise<T>): ReadonlySignal<Loaded<T>> {
  const value = useMemo(() => signal<Loaded<T>>(LOADING), []);
  useEffect(() => {
    let current = true;
    // What is shown stays until the next is there: a flash of nothing is worse than a moment of the old.
    load().then(
      (loaded) => {
        if (current) value.value = { state: "there", value: loaded };
      },
      (error) => {
        if (current) value.value = failed(error);
      },
    );
    return () => {
      current = false;
    };
  }, [key]);
  return value;
}
