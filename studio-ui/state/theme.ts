import { effect, signal } from "@preact/signals";

export type Theme = "auto" | "light" | "dark";

const KEY = "heddle-theme";
const NEXT: Readonly<Record<Theme, Theme>> = { auto: "light", light: "dark", dark: "auto" };

export const theme = signal<Theme>(remembered());

effect(() => {
  if (theme.value === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme.value;
});

export function nextTheme(): void {
  theme.value = NEXT[theme.value];
  try {
    localStorage.setItem(KEY, theme.value);
  } catch {
    // A page opened from disk may have no localStorage. The choice is then not saved.
  }
}

function remembered(): Theme {
  try {
    const text = localStorage.getItem(KEY);
    return text === "light" || text === "dark" ? text : "auto";
  } catch {
    return "auto";
  }
}
