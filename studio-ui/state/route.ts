import { computed, signal } from "@preact/signals";

export type Tab = "chat" | "timeline" | "saw" | "what-if";

/** The current view. All of it is in the URL hash, so every view can be linked. */
export interface Route {
  readonly threadId?: string;
  readonly tab: Tab;
  readonly callId?: string;
  readonly seq?: number;
  /** The kinds of entries that the timeline shows. Default: all. */
  readonly kinds?: readonly string[];
  readonly lane?: string;
}

export const TABS: readonly { readonly tab: Tab; readonly title: string }[] = [
  { tab: "chat", title: "Chat" },
  { tab: "timeline", title: "Timeline" },
  { tab: "saw", title: "Model calls" },
  { tab: "what-if", title: "What-if" },
];

const hash = signal(location.hash);
addEventListener("hashchange", () => {
  hash.value = location.hash;
});

export const route = computed(() => read(hash.value));

function read(text: string): Route {
  const [path = "", query = ""] = text.replace(/^#\/?/, "").split("?", 2);
  const [root, id, word, value] = path.split("/").map(decoded);
  if (root !== "t" || !id) return { tab: "chat" };
  const seq = value !== undefined && /^\d+$/.test(value) ? { seq: Number(value) } : {};
  switch (word) {
    case "call":
      return { threadId: id, tab: "saw", ...(value && { callId: value }) };
    case "saw":
      return { threadId: id, tab: "saw" };
    case "timeline":
      return { threadId: id, tab: word, ...seq, ...filterIn(query) };
    case "what-if":
      return { threadId: id, tab: word, ...seq };
    default:
      return { threadId: id, tab: "chat", ...seq };
  }
}

function filterIn(query: string): Pick<Route, "kinds" | "lane"> {
  const fields = new URLSearchParams(query);
  const kinds = (fields.get("kinds") ?? "").split(",").filter((word) => word !== "");
  const lane = fields.get("lane");
  return { ...(kinds.length > 0 && { kinds }), ...(lane && { lane }) };
}

/** Decodes a part of the hash. A hand-typed hash may contain an invalid escape, which is kept as it is. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

export function hrefOf({ threadId, tab = "chat", callId, seq, kinds = [], lane }: Partial<Route>): string {
  if (threadId === undefined) return "#/";
  const thread = `#/t/${encodeURIComponent(threadId)}`;
  if (callId !== undefined) return `${thread}/call/${encodeURIComponent(callId)}`;
  const fields = new URLSearchParams({
    ...(kinds.length > 0 && { kinds: kinds.join() }),
    ...(lane !== undefined && { lane }),
  });
  const filter = tab === "timeline" && fields.size > 0 ? `?${fields}` : "";
  if (seq !== undefined) return `${thread}/${tab}/${seq}${filter}`;
  return tab === "chat" ? thread : `${thread}/${tab}${filter}`;
}

export function go(to: Partial<Route>, how: "push" | "replace" = "push"): void {
  const href = hrefOf(to);
  if (href === location.hash) return;
  if (how === "push") location.hash = href;
  else history.replaceState(null, "", href);
  hash.value = location.hash; // Updates the signal now, because the browser's event may come after the next key press.
}
