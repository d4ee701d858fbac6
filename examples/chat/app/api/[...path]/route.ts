import { developmentHost, openStore } from "heddle";
import { chatHost } from "../../../chat/agent.ts";
import { chatApi } from "../../../chat/api.ts";

const url = process.env["DATABASE_URL"] ?? "sqlite:./chat.db";
const api = chatApi(await developmentHost("chat", async (before) => chatHost(before?.store ?? (await openStore(url)))));

export { api as DELETE, api as GET, api as POST };
export const dynamic = "force-dynamic";
