import { type ReadonlySignal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { problemOf } from "../data/source.ts";

/** A value that is being loaded, was loaded, or could not be loaded. */
export type LoadState<T> =
  | { readonly state: "loading" }
  | { readonly state: "there"; readonly value: T }
  | { readonly state: "failed"; readonly code: string; readonly message: string };

export const LOADING = { state: "loading" } as const;

export function failed(error: unknown): LoadState<never> {
  return { state: "failed", ...problemOf(error) };
}

/** Loads a value whenever `key` changes. A result that arrives late, for an older key, is dropped. */
export function useLoaded<T>(key: string, load: () => Promise<T>): ReadonlySignal<LoadState<T>> {
  const value = useMemo(() => signal<LoadState<T>>(LOADING), []);
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
