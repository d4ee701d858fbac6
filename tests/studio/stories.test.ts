import { memoryStore } from "heddle";
import { readingStories } from "./support/reading-stories.ts";
import { studioStories } from "./support/stories.ts";

studioStories("a store in memory", () => memoryStore());
readingStories("a store in memory", () => memoryStore());
