import { sqliteStore } from "heddle/sqlite";
import { fastFile } from "../support/temp-folder.ts";
import { readingStories } from "./support/reading-stories.ts";
import { studioStories } from "./support/stories.ts";

studioStories("SQLite", () => sqliteStore(fastFile()));
readingStories("SQLite", () => sqliteStore(fastFile()));
