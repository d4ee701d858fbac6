import type { Content, Part } from "heddle";
import { portableSha256 } from "../../../../src/thread/encoding.ts";
import type { Block, Call } from "./blocks.ts";

const VALID = /^(?!hd_[A-Za-z0-9_-]{22,37}$)[A-Za-z0-9_-]{1,40}$/;

/** The ids under which the calls of a block are shown, given the blocks that are shown before it. */
export function idsOf({ calls }: Block, shownBefore: readonly Block[]): string[] {
  const taken = shownBefore.flatMap((block) => block.calls.flatMap(({ id }) => id || []));
  const clashes = calls.some(({ id }) => id !== undefined && taken.includes(id));
  return calls.map((call, n) => {
    const { id = "" } = call;
    const repeated = calls.filter((other) => other.id === id).length > 1;
    return clashes || repeated || !VALID.test(id) ? rewritten(call, n) : id;
  });
}

function rewritten({ by, id = "" }: Call, n: number): string {
  const { seq, item } = by.place;
  const place = item === undefined ? [seq] : [seq, item];
  const length = Math.min(40, Math.max(25, id.length));
  return `hd_${portableSha256(JSON.stringify([by.callId ?? "", id, n, ...place]))}`.slice(0, length);
}

export function legalName(name: string): string {
  const legal = name.replace(/[^A-Za-z0-9_-]/gu, "_").slice(0, 64);
  return legal === "" ? "tool" : legal;
}

/** The places of calls among the parts, under the new ids: the nth place of an id is that of its nth call. */
export function withPlaces(content: Content, calls: readonly { id: string | undefined; shown: string }[]): Content {
  if (typeof content === "string") return content;
  const waiting = [...calls];
  return content.flatMap((part): readonly Part[] => {
    if (part.type !== "tool_call") return [part];
    const at = waiting.findIndex(({ id }) => id === part.id);
    const [call] = at < 0 ? [] : waiting.splice(at, 1);
    return call === undefined ? [] : [{ ...part, id: call.shown }];
  });
}
