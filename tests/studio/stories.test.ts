import { memoryStore } from "heddle";
import { studioStories } from "./support/stories.ts";

studioStories("a store in memory", () => memoryStore());
