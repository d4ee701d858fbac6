// A worker whose threads Restate wakes. Run any number of them on one database. See docs/engines.md.
import { serve } from "@restatedev/restate-sdk";
import { AgentHost, defineAgent, openStore } from "heddle";
import { restateScheduler, restateThreads } from "heddle/restate";
import { scriptedModel } from "heddle/testing";

const { RESTATE_URL = "http://127.0.0.1:8080", STORE = "sqlite:./threads.db", PORT = "9080" } = process.env;

const agent = defineAgent({ name: "helper", model: scriptedModel(["It is 4."]) }); // your model here
const scheduler = restateScheduler({ url: RESTATE_URL });
const host = AgentHost.create({ agent, store: await openStore(STORE), scheduler });
await serve({ services: [restateThreads(host)], port: Number(PORT) });
console.log("ready");
