import { test } from "vitest";
import { durableStory } from "../engines/support/durable-story.ts";
import { throughKills } from "../engines/support/kill-story.ts";
import { restateStory } from "../engines/support/restate-story.ts";
import { seeded } from "../support/seeded.ts";

test("200 kills of a worker that Restate calls", async () => throughKills(await restateStory(), seeded(), 12, 200));

test("200 kills of workerd with its Durable Objects", async () => throughKills(await durableStory(), seeded(), 8, 200));
