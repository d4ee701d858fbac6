import { test } from "vitest";
import { seeded } from "../support/seeded.ts";
import { throughKills } from "./support/kill-story.ts";
import { restateStory } from "./support/restate-story.ts";

test("a worker that Restate calls is killed: every ask has one end, and no charge runs twice", async () =>
  throughKills(await restateStory(), seeded(), 6, 5));
