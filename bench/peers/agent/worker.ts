// Runs the laps of one project in this process, on command: worker.ts <peer> <folder> <usesTool>
import { askOf } from "../../agent/conversation.ts";
import { type LapJob, runLap } from "../../agent/lap.ts";
import { load } from "./peers.ts";

const [which = "", folder = "", usesTool] = process.argv.slice(2);
const { name, packages, notes, open } = await load(which);
const agent = await open(folder, { usesTool: usesTool === "true" });
const warmUp = await agent.begin("warm-up");
await warmUp.ask(askOf(0));
await warmUp.end();
process.on("message", (job: LapJob | "stop") => {
  if (job === "stop") {
    void agent.close().then(() => process.disconnect());
    return;
  }
  runLap(agent, job).then(
    (lap) => process.send?.({ lap }),
    (error: unknown) => process.send?.({ trouble: String(error) }),
  );
});
process.send?.({ facts: { name, packages, notes, durability: await agent.durability() } });
