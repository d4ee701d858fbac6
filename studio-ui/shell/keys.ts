import { stepCall } from "../calls/call-view.tsx";
import { cancel } from "../chat/composer.tsx";
import { go, route, TABS } from "../state/route.ts";
import { list, newThread, thread } from "../state/studio.ts";
import { nextTheme } from "../state/theme.ts";
import { panels } from "./panels.ts";

/** All keyboard shortcuts, as the help dialog lists them. */
export const KEYS: readonly { readonly title: string; readonly keys: readonly (readonly [string, string])[] }[] = [
  {
    title: "Anywhere",
    keys: [
      ["?", "this help"],
      ["/", "search threads"],
      ["n", "new thread"],
      ["J  K", "next, previous thread"],
      ["1 … 4", "Chat, Timeline, Model calls, What-if"],
      ["i", "show or hide the inspector"],
      ["t", "theme: automatic, light, dark"],
      ["Esc", "close what is open, leave a field"],
    ],
  },
  {
    title: "Chat",
    keys: [
      ["c", "write"],
      ["Enter", "send, or steer what runs"],
      ["Shift Enter", "new line"],
      [".", "cancel the request"],
    ],
  },
  {
    title: "Timeline and entries",
    keys: [
      ["↑ ↓  j k", "previous, next"],
      ["PgUp PgDn", "a page"],
      ["Home End", "first, last"],
      ["g", "jump to an entry"],
    ],
  },
  {
    title: "Model calls",
    keys: [
      ["[  ]", "call before, call after"],
      ["Tab", "through messages; their entries light up"],
      ["↑ ↓", "through entries; their messages light up"],
    ],
  },
];

export function listenToKeys(): () => void {
  addEventListener("keydown", onKey);
  return () => removeEventListener("keydown", onKey);
}

function onKey(event: KeyboardEvent): void {
  if (event.key === "Escape") leave(event);
  if (event.key === "Escape" || event.metaKey || event.ctrlKey || event.altKey || isWriting(event.target)) return;
  const act = ACTIONS[event.key];
  if (act === undefined) return;
  event.preventDefault();
  act();
}

const ACTIONS: Readonly<Record<string, () => void>> = {
  "?": () => (panels.help.value = !panels.help.value),
  "/": () => {
    panels.list.value = true;
    focusOn("#search");
  },
  n: () => void newThread(),
  J: () => stepThread(1),
  K: () => stepThread(-1),
  i: () => (panels.inspector.value = !panels.inspector.value),
  t: nextTheme,
  c: () => {
    toTab(0);
    focusOn("#composer, #first-ask");
  },
  ".": () => {
    const open = thread.peek();
    if (open?.isBusy.peek() && open.source.act) void cancel(open);
  },
  g: () => {
    toTab(1);
    focusOn("#jump");
  },
  "[": () => withThread((open) => stepCall(open, -1)),
  "]": () => withThread((open) => stepCall(open, 1)),
  1: () => toTab(0),
  2: () => toTab(1),
  3: () => toTab(2),
  4: () => toTab(3),
};

function leave(event: KeyboardEvent): void {
  if (panels.help.peek()) panels.help.value = false;
  else if (isWriting(event.target)) (event.target as HTMLElement).blur();
  else if (panels.list.peek()) panels.list.value = false;
  else panels.inspector.value = false;
}

function isWriting(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    (target.matches("input:not([type=range]), textarea, select") || target.isContentEditable)
  );
}

function withThread(act: (open: NonNullable<typeof thread.value>) => void): void {
  const open = thread.peek();
  if (open !== undefined) act(open);
}

function toTab(index: number): void {
  const { threadId, tab } = route.peek();
  const next = TABS[index]?.tab;
  if (threadId !== undefined && next !== undefined && next !== tab) go({ threadId, tab: next });
}

function stepThread(step: 1 | -1): void {
  const rows = list.peek();
  if (rows.state !== "there") return;
  const at = rows.value.findIndex(({ id }) => id === route.peek().threadId);
  const next = rows.value[at + step];
  if (next !== undefined) go({ threadId: next.id, tab: route.peek().tab });
}

/**
 * Focuses an element that a key may have just opened: at once if it is there, so that the next key is text for it and not a
 * shortcut. Otherwise tries each frame, for half a second. A hidden element takes no focus.
 */
function focusOn(selector: string, frames = 30): void {
  const found = document.querySelector<HTMLElement>(selector);
  found?.focus();
  if (found !== null && document.activeElement === found) return;
  if (frames > 0) requestAnimationFrame(() => focusOn(selector, frames - 1));
}
