import { signal } from "@preact/signals";
import { problemOf } from "../data/source.ts";

export interface Toast {
  readonly id: number;
  readonly tone: "info" | "error";
  readonly text: string;
  readonly code?: string;
}

export const toasts = signal<readonly Toast[]>([]);
let count = 0;

export function dismiss(id: number): void {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
}

export function showToast(text: string): void {
  show({ id: ++count, tone: "info", text });
}

/** Runs an action and returns its result. Shows an error as a toast and returns undefined. */
export async function attempt<T>(act: () => Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    const { code, message } = problemOf(error);
    show({ id: ++count, tone: "error", text: message, code });
    return undefined;
  }
}

function show(toast: Toast): void {
  toasts.value = [...toasts.value.slice(-2), toast];
  setTimeout(() => dismiss(toast.id), toast.tone === "error" ? 9000 : 4000);
}
