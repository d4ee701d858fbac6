import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "heddle";

/** A server that keeps the last body it was sent and gives every request the same answer. */
export interface Capture extends AsyncDisposable {
  readonly url: string;
  readonly last: () => JsonObject;
}

/** The least that the response parser of each package accepts; the path tells which API is asked. */
const ANSWERS: readonly (readonly [RegExp, JsonObject])[] = [
  [
    /chat\/completions$/,
    { choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }] },
  ],
  [/responses$/, { id: "r", created_at: 0, model: "m", output: [], usage: { input_tokens: 1, output_tokens: 1 } }],
  [
    /messages$/,
    {
      type: "message",
      id: "m",
      model: "m",
      content: [],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
    },
  ],
  [/generateContent$/, { candidates: [{ content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP" }] }],
];

export async function startCapture(): Promise<Capture> {
  let body = "{}";
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer); // a request without encoding yields buffers
    body = Buffer.concat(chunks).toString("utf8");
    const answer = ANSWERS.find(([path]) => path.test(request.url ?? ""))?.[1] ?? {};
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  return {
    url: `http://127.0.0.1:${port}`,
    last: () => JSON.parse(body) as JsonObject,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
