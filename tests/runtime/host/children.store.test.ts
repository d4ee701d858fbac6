import { sqliteStore } from "heddle/sqlite";
import { fastFile } from "../../support/temp-folder.ts";
import { childStories } from "./support/child-stories.ts";

childStories("on SQLite", () => sqliteStore(fastFile()));
