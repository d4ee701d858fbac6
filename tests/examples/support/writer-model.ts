import type { JsonObject } from "heddle";
import { type ProtocolServer, startProtocolServer } from "../../support/protocol/server.ts";

export const DOCUMENT = "The sea is wide. The sea is deep. The sea is blue.";

/** A provider that writes a document when the user asks for one, thanks otherwise, and gives each thread a title. */
export async function startWriter(): Promise<ProtocolServer> {
  const server = await startProtocolServer();
  const document = { id: "sea", title: "The sea", instructions: "Write about the sea." };
  server.answer(({ body }) => {
    if (body["tools"] === undefined)
      return JSON.stringify(body).includes('Write about the sea."')
        ? { text: DOCUMENT.split(/(?<=\. )/) }
        : { text: "A text of the sea" };
    const last = (body["input"] as readonly JsonObject[]).at(-1) ?? {}; // as the Responses API has it
    if (last["type"] === "function_call_output") return { text: "It is beside the chat." };
    const asks = JSON.stringify(last).includes("Write");
    return asks ? { calls: [{ name: "writeDocument", arguments: document }] } : { text: "You are welcome." };
  });
  return server;
}
