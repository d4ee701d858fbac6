import { type AnyAgent, agentTool, defineAgent, type Entry, type ThreadStore } from "heddle";
import { type Rules, ruleModel } from "../../../simulation/kills/rule-model.ts";

/** An agent whose model answers as these rules say, also when it is asked again. */
function ruled(name: string, rules: Rules, config: object = {}): AnyAgent {
  return defineAgent({ ...config, name, model: ruleModel(rules) }) as AnyAgent;
}

const TOPICS = ["sun", "moon", "star"] as const;

/** A lead that asks three agents at once, and repeats each answer that it reads. */
export function threeChildren(config: object = {}): AnyAgent {
  const tools = Object.fromEntries(
    TOPICS.map((topic) => [
      topic,
      agentTool(
        ruled(topic, () => `The ${topic} is far.`),
        { description: topic, inputSchema: { type: "object" } },
      ),
    ]),
  );
  const lead: Rules = (prompt) => {
    const read = TOPICS.flatMap((topic) =>
      Array.from({ length: timesIn(prompt, `The ${topic} is far.`) }, () => topic),
    );
    return read.length === 0 ? { calls: TOPICS.map((topic, index) => [topic, index] as const) } : read.join(" ");
  };
  return ruled("lead", lead, { ...config, tools });
}

function timesIn(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** The threads of children, in the order of their ids. */
export async function childrenOf(store: ThreadStore): Promise<readonly string[]> {
  const { threads } = await store.list({ order: "id", prefix: "child_" });
  return threads.map(({ id }) => id);
}

export async function logOf(store: ThreadStore, threadId: string): Promise<readonly Entry[]> {
  return (await store.load(threadId))?.toArray() ?? [];
}

/** The contents of the results in a thread, by the name of their tool. */
export function resultsIn(log: readonly Entry[]): readonly (readonly [unknown, unknown])[] {
  return log.flatMap(({ payload }) =>
    "toolCallId" in payload && payload["role"] === "tool" ? [[payload["name"], payload["content"]] as const] : [],
  );
}
