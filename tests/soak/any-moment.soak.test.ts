import { expect, test } from "vitest";
import { freshSeed } from "../simulation/first-seed.ts";
import { oneServer } from "../simulation/one-server.ts";
import { twoHosts } from "../simulation/two-hosts.ts";
import { report } from "../support/report.ts";
import { again } from "./duration.ts";

test("the events of a server agree with the log, and two hosts do not harm each other, in new simulations", async () => {
  let worlds = 0;
  await again(async (round) => {
    const seed = freshSeed() + round;
    worlds = round + 1;
    expect([seed, ...(await oneServer(seed)), ...(await twoHosts(seed))]).toEqual([seed]);
  });
  report({ seed: freshSeed(), worlds });
});
