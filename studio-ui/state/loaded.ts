import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { problemOf } from "../data/source.ts";

/** A value that is loading, loaded or refused. */
export type Loaded<T> =
  | { readonly state: "loading" }
  | { readonly state: "there"; readonly value: T }
  | { readonly state: "failed"; readonly code: string; readonly message: string };

export const LOADING = { state: "loading" } as const;

export function failed(error: unknown): Loaded<never> {
  return { state: "failed", ...problemOf(error) };
}

/** Loads a value whenever `key` changes. A late result for an older key is dropped. */
export function useLoaded<T>(key: string, load: () => Promise<T>): ReadonlySignal<Loaded<T>> {
  const value = useMemo(() => signal<Loaded<T>>(LOADING), []);
  useEffect(() => {
    let current = true;
    // The old value stays until the new one is loaded, so that the page does not flicker.
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
