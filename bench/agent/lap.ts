import type { Conversation, PeerAgent } from "../peers/agent/peer.ts";
import { atOnce, type Lap } from "../support/lap.ts";
import { ANSWER, askOf, messagesOf } from "./conversation.ts";

/** The requests of one lap: conversations of so many turns, one after another or all at once. */
export interface LapJob {
  readonly conversations: number;
  readonly turns: number;
  readonly atOnce: boolean;
  readonly usesTool: boolean;
}

/** A lap, and the processor's time it took: that of other processes is not in it, however busy the machine is. */
export interface AgentLap extends Lap {
  readonly cpuMs: number;
}

let begun = 0;

/** Fresh conversations, so that every lap is like the one before. Beginning and ending one by one is not timed. */
export async function runLap(agent: PeerAgent, job: LapJob): Promise<AgentLap> {
  const ids = Array.from({ length: job.conversations }, () => `thread_${String(begun++).padStart(8, "0")}`);
  const before = process.cpuUsage();
  const lap = job.atOnce ? await allAtOnce(agent, ids, job) : await oneAfterAnother(agent, ids, job);
  const { user, system } = process.cpuUsage(before);
  mustBeShown(agent.seen, job);
  return { ...lap, cpuMs: (user + system) / 1000 };
}

async function allAtOnce(agent: PeerAgent, ids: readonly string[], { turns }: LapJob): Promise<Lap> {
  const conversations = await Promise.all(ids.map((id) => agent.begin(id)));
  const lap = await atOnce(ids.length, turns, async (worker, turn) => {
    await ask(conversations[worker], turn);
  });
  await Promise.all(conversations.map((conversation) => conversation.end()));
  return lap;
}

async function oneAfterAnother(agent: PeerAgent, ids: readonly string[], { turns }: LapJob): Promise<Lap> {
  const laps: Lap[] = [];
  for (const id of ids) {
    const conversation = await agent.begin(id);
    laps.push(await atOnce(1, turns, (_, turn) => ask(conversation, turn)));
    await conversation.end();
  }
  return {
    operations: laps.reduce((sum, { operations }) => sum + operations, 0),
    ms: laps.reduce((sum, { ms }) => sum + ms, 0),
    each: laps.flatMap(({ each }) => each),
  };
}

async function ask(conversation: Conversation | undefined, turn: number): Promise<void> {
  const text = await conversation?.ask(askOf(turn));
  if (text !== ANSWER) throw new Error(`Turn ${turn} was answered: ${text}`);
}

/** Checks that the model got the whole short conversation: a contender that forgets it would be fast. */
function mustBeShown(seen: number, { turns, usesTool }: LapJob): void {
  const said = messagesOf(usesTool) * turns - 1;
  const least = Math.min(said, 40);
  if (seen !== 0 && seen < least) throw new Error(`The model was shown ${seen} messages of ${said}.`);
}
