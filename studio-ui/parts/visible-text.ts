import { visibleText } from "../../src/thread/hidden-characters.ts";

/** Attributes that people read or hear. */
const READ = ["title", "aria-label", "placeholder", "alt"] as const;

/** A node that Preact has made: a text has no type, and an element the name of its tag. */
interface PageNode {
  readonly type: unknown;
  props: unknown;
}

/** Escapes the hidden and reordering characters of a text, or of the labels of an element. */
export function showHidden(node: PageNode): void {
  if (node.type === null) {
    if (typeof node.props === "string") node.props = visibleText(node.props);
  } else if (typeof node.type === "string") {
    const props = node.props as Record<string, unknown>; // those of an element are an object
    for (const name of READ) if (typeof props[name] === "string") props[name] = visibleText(props[name]);
  }
}
