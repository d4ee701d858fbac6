import fc from "fast-check";
import { AgentHost, memoryStore } from "heddle";
import { chatTurn, messageSiblings, toUIMessages, type UIChatMessage } from "heddle/ai-sdk";
import { expect, test } from "vitest";
import { agentOf } from "./chat.ts";

const id = "thread_c";

/** A message in the naive model: a tree, in which the page shows the path to one leaf. */
interface Node {
  readonly text: string;
  readonly messageId: string | undefined;
  readonly parent: Node | undefined;
  readonly children: Node[];
  /** When a page has shown it as its last message. */
  usedAt: number;
}

const step = fc.record({
  type: fc.constantFrom("send", "send", "edit", "regenerate", "switch", "restart"),
  place: fc.nat(20),
  choice: fc.nat(20),
});

const leaves = (node: Node): readonly Node[] => [node, ...node.children.flatMap(leaves)];

function pathTo(node: Node | undefined): readonly Node[] {
  return node?.parent === undefined ? [] : [...pathTo(node.parent), node];
}

function textOf({ parts }: UIChatMessage): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

test("whatever a person sends, edits, regenerates and switches, the page has the branch and the siblings of a plain tree", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 14 }), async (steps) => {
      const script = Array.from({ length: steps.length + 1 }, (_, n) => `A${n}`);
      const agent = agentOf(script);
      const store = memoryStore();
      let host = AgentHost.create({ agent, store, warn: () => undefined });
      const root: Node = { text: "", messageId: undefined, parent: undefined, children: [], usedAt: 0 };
      let last = root;
      let time = 0;
      let asked = 0;
      const child = (parent: Node, text: string, messageId?: string): Node => {
        const node: Node = { text, messageId, parent, children: [], usedAt: 0 };
        parent.children.push(node);
        return node;
      };
      const shown = async () => toUIMessages(await host.thread(id));
      const ask = async (message: Node, trigger: string, messageId?: string): Promise<void> => {
        const messages = await shown();
        const path = pathTo(message);
        const user = { id: message.messageId, role: "user", parts: [{ type: "text", text: message.text }] };
        const posted = [...messages.slice(0, path.length - 1), user];
        const { request } = await chatTurn(host, id, posted, { trigger, messageId });
        last = child(message, (await request.result).text);
        last.usedAt = ++time;
      };
      for (const { type, place, choice } of steps) {
        const path = pathTo(last);
        const at = path.length === 0 ? -1 : place % path.length;
        const target = path[at];
        const messages = await shown();
        if (type === "restart") {
          await host.stop();
          host = AgentHost.create({ agent, store, warn: () => undefined });
        } else if (type === "send" || target?.parent === undefined) {
          const name = `U${++asked}`;
          await ask(child(last, name, name), "submit-message");
        } else if (type === "switch") {
          const siblings = target.parent.children;
          const chosen = choice % siblings.length;
          const lane = messageSiblings(await host.thread(id))[messages[at]?.id ?? ""]?.lanes[chosen];
          expect(lane !== undefined).toBe(siblings.length > 1);
          if (lane === undefined || siblings[chosen] === target) continue;
          await host.switchBranch(id, lane);
          last = leaves(siblings[chosen] as Node).reduce((a, b) => (b.usedAt > a.usedAt ? b : a)); // chosen from the list
          last.usedAt = ++time;
        } else if (type === "edit") {
          const message = target.messageId === undefined ? target.parent : target;
          const name = `U${++asked}`;
          await ask(child(message.parent ?? root, name, message.messageId), "submit-message", message.messageId);
        } else {
          const answer = target.messageId === undefined ? messages[at]?.id : messages[at + 1]?.id;
          await ask(target.messageId === undefined ? target.parent : target, "regenerate-message", answer);
        }
        const now = await shown();
        expect(now.map(textOf)).toEqual(pathTo(last).map(({ text }) => text));
        const siblings = messageSiblings(await host.thread(id));
        const counts = pathTo(last).map((node) => {
          const all = node.parent?.children ?? [];
          return all.length < 2 ? undefined : { index: all.indexOf(node), count: all.length };
        });
        const found = now.map((message) => siblings[message.id]);
        expect(found.map((one) => one && { index: one.index, count: one.count })).toEqual(counts);
      }
      await host.stop();
    }),
    { numRuns: 60 },
  );
});
