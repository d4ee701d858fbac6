import { test } from "vitest";
import { seeded } from "../support/seeded.ts";
import { durableStory } from "./support/durable-story.ts";
import { throughKills } from "./support/kill-story.ts";

test("workerd is killed: every ask of its objects has one end, and no charge runs twice", async () =>
  throughKills(await durableStory(), seeded(), 3, 3));
