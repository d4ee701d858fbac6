import { sqliteStore } from "heddle/sqlite";
import { fastFile } from "../../support/temp-folder.ts";
import { agentStories } from "./support/agent-stories.ts";

agentStories("on SQLite", () => sqliteStore(fastFile()));
