import { expect, test } from "vitest";
import { report } from "../support/report.ts";
import { freshSeed } from "../world/first-seed.ts";
import { oneServer } from "../world/one-server.ts";
import { twoHosts } from "../world/two-hosts.ts";
import { again } from "./duration.ts";

test("what a server told is what the log says, and two hosts do each other no harm, in worlds that nobody has seen", async () => {
  let worlds = 0;
  await again(async (round) => {
    const seed = freshSeed() + round;
    worlds = round + 1;
    expect([seed, ...(await oneServer(seed)), ...(await twoHosts(seed))]).toEqual([seed]);
  });
  report({ seed: freshSeed(), worlds });
});
