import { sqliteStore } from "heddle/sqlite";
import { fastFile } from "../support/temp-folder.ts";
import { studioStories } from "./support/stories.ts";

studioStories("SQLite", () => sqliteStore(fastFile()));
