import { effect, signal } from "@preact/signals";
import { route } from "../state/route.ts";
import { inspected } from "../state/studio.ts";

/** What is open beside the thread. The list is a drawer only where there is no room for it. */
export const panels = {
  list: signal(false),
  inspector: signal(false),
  help: signal(false),
  context: signal(false),
} as const;

let last = "";
let lastThread: string | undefined;

effect(() => {
  // Whoever chooses an entry wants to see it.
  if (inspected.value !== undefined) panels.inspector.value = true;
});

effect(() => {
  // Where it lies over the view, it would hide the next one.
  const { threadId, tab } = route.value;
  if (`${threadId} ${tab}` !== last && matchMedia("(max-width: 1250px)").matches) panels.inspector.value = false;
  if (threadId !== lastThread) panels.list.value = false;
  lastThread = threadId;
  last = `${threadId} ${tab}`;
});
