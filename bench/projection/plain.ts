import type { Message } from "heddle";
import type { ContextPeer, Variant } from "../peers/projection/peer.ts";
import { tokensOfOne } from "./tokens.ts";

/** The baselines, which need no library. */
export async function plain(): Promise<ContextPeer> {
  return { packages: [], variants: [noTrimming, countedBack] };
}

const noTrimming: Variant = {
  name: "baseline: no trimming",
  tables: ["cache"],
  counts: "tokens",
  fixed: 0,
  open() {
    const messages: Message[] = [];
    return {
      add: (more) => messages.push(...more),
      build() {
        const all = [...messages];
        return () => all;
      },
    };
  },
};

const countedBack: Variant = {
  name: "baseline: the last messages, counted until the budget is full",
  tables: ["build"],
  counts: "tokens",
  notes: ["The baseline reads only the counts; its lists are not always legal."],
  open(limit) {
    const messages: Message[] = [];
    return {
      add(more) {
        for (const message of more) messages.push(message);
      },
      build() {
        let start = messages.length;
        for (let left = limit; start > 0; start -= 1) {
          const message = messages[start - 1];
          left -= message === undefined ? 0 : tokensOfOne(message);
          if (left < 0) break;
        }
        const list = messages.slice(start);
        return () => list;
      },
    };
  },
};
