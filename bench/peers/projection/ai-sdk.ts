import { loadPeer, withVersion } from "../load.ts";
import type { ContextPeer } from "./peer.ts";
import { addToPrompt, fromPrompt, type PromptMessage } from "./prompt.ts";

interface AISDK {
  pruneMessages(options: {
    messages: readonly PromptMessage[];
    reasoning: string;
    toolCalls: string;
    emptyMessages: string;
  }): readonly PromptMessage[];
}

export async function aiSdk(): Promise<ContextPeer> {
  const { pruneMessages } = await loadPeer<AISDK>("ai");
  return {
    packages: [withVersion("ai")],
    variants: [
      {
        name: "AI SDK pruneMessages",
        tables: ["build", "cache", "illegal"],
        counts: "items",
        fixed: 2,
        notes: [
          "It knows of no budget: it leaves out the calls and results before the last 2 messages, also those of the request under way, and keeps the rest.",
        ],
        open(limit) {
          const messages: PromptMessage[] = [];
          return {
            add: (more) => addToPrompt(messages, more),
            build() {
              const toolCalls = `before-last-${limit}-messages`;
              const reasoning = "before-last-message";
              const list = pruneMessages({ messages, reasoning, toolCalls, emptyMessages: "remove" });
              return () => fromPrompt(list);
            },
          };
        },
      },
    ],
  };
}
