import { effect, signal } from "@preact/signals";
import { route } from "../state/route.ts";
import { inspected } from "../state/studio.ts";

/**
 * Whether each panel beside the thread is open. `list` matters only on a narrow screen, where the thread list is a
 * drawer.
 */
export const panels = {
  list: signal(false),
  inspector: signal(false),
  help: signal(false),
  context: signal(false),
} as const;

let last = "";
let lastThread: string | undefined;

effect(() => {
  // Selecting an entry opens the inspector.
  if (inspected.value !== undefined) panels.inspector.value = true;
});

effect(() => {
  // On a narrow screen the inspector covers the view, so it closes when the view changes.
  const { threadId, tab } = route.value;
  if (`${threadId} ${tab}` !== last && matchMedia("(max-width: 1250px)").matches) panels.inspector.value = false;
  if (threadId !== lastThread) panels.list.value = false;
  lastThread = threadId;
  last = `${threadId} ${tab}`;
});
