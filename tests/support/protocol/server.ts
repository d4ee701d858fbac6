import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { JsonObject } from "heddle";
import { type Answer, said } from "./answer.ts";
import { anthropic } from "./anthropic/api.ts";
import type { Api, ApiName, Asked } from "./api.ts";
import { gemini } from "./gemini/api.ts";
import { objectOf } from "./json.ts";
import { openaiChat, openaiCompatible } from "./openai-chat/api.ts";
import { openaiResponses } from "./openai-responses/api.ts";
import { type Problem, Refused } from "./problem.ts";
import { type Delivery, deliveryOf, isBreakage, sendProblem, sendStream, sendWhole } from "./reply.ts";
import type { Ending, OpenRequest, ProtocolRequest } from "./request.ts";
import { tokensOf } from "./tokens.ts";
import { type ProtocolOptions, World } from "./world.ts";

export type { Answer } from "./answer.ts";
export type { ApiName } from "./api.ts";

const APIS: readonly Api[] = [openaiChat, openaiCompatible, openaiResponses, anthropic, gemini];

/** What is said of a prompt that is too long where no limit was set. */
const USUAL_WINDOW = 200_000;

type Rule = (request: ProtocolRequest) => Answer | undefined;

/** OpenAI, Anthropic, Google and a compatible server on one port of this machine. */
export interface ProtocolServer extends AsyncDisposable {
  readonly url: string;
  readonly openaiUrl: string;
  readonly compatibleUrl: string;
  readonly anthropicUrl: string;
  readonly googleUrl: string;
  /** Everything that arrived, in order. */
  readonly requests: readonly ProtocolRequest[];
  /**
   * Answers are given one after the other, each once, to requests that are legal. A rule answers when none is left; the
   * newest rule that has an answer does. A legal request without an answer gets an error that is not retried.
   */
  answer(...answers: readonly (Answer | Rule)[]): void;
  /** The answers nobody has asked for yet. */
  readonly unused: number;
  /** Lets a signature pass, with any content, as if it had been given out here. */
  adopt(api: ApiName, signature: string): void;
  /** Resolves with the nth request, from 1 on, when it has arrived. */
  received(n: number): Promise<ProtocolRequest>;
  stop(): Promise<void>;
}

/**
 * Starts what is a real provider in our tests.
 *
 * @example
 * await using server = await startProtocolServer();
 * server.answer({ text: "4" });
 * const model = createOpenAI({ baseURL: server.openaiUrl, apiKey: "none" }).chat("gpt-4o");
 */
export async function startProtocolServer(options: ProtocolOptions = {}): Promise<ProtocolServer> {
  const desk = new Desk(options);
  const server = createServer((request, response) => {
    // Who goes away while still asking is no request.
    desk.serve(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo; // it listens on TCP
  const url = `http://127.0.0.1:${port}`;
  const stop = async (): Promise<void> => {
    desk.stopping = true;
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url,
    openaiUrl: `${url}/v1`,
    compatibleUrl: `${url}/compatible/v1`,
    anthropicUrl: `${url}/v1`,
    googleUrl: `${url}/v1beta`,
    requests: desk.requests,
    answer: (...answers) => desk.answer(answers),
    get unused() {
      return desk.answers.length;
    },
    adopt: (api, signature) => desk.world.adopt(api, signature),
    received: (n) => desk.received(n),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** A request and the connection it came by. */
interface Kept {
  readonly request: OpenRequest;
  readonly line: Pick<Delivery, "gone" | "cut">;
}

/** Takes requests, keeps them, and has them answered. */
class Desk {
  readonly world: World;
  readonly requests: OpenRequest[] = [];
  readonly answers: Answer[] = [];
  stopping = false;
  readonly #rules: Rule[] = [];
  #waiting: readonly (() => void)[] = [];

  constructor(options: ProtocolOptions) {
    this.world = new World(options);
  }

  answer(answers: readonly (Answer | Rule)[]): void {
    for (const answer of answers) {
      if (typeof answer === "function") this.#rules.unshift(answer);
      else this.answers.push(answer);
    }
  }

  async received(n: number): Promise<ProtocolRequest> {
    for (;;) {
      const request = this.requests[n - 1];
      if (request !== undefined) return request;
      await new Promise<void>((resolve) => {
        this.#waiting = [...this.#waiting, resolve];
      });
    }
  }

  async serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = incoming.url ?? "";
    const body = await bodyOf(incoming);
    const found = APIS.map((api) => ({ api, route: api.route(path, body) })).find(({ route }) => route !== undefined);
    if (incoming.method !== "POST" || found?.route === undefined) {
      const message = `No API answers ${incoming.method} ${path}.`;
      response.writeHead(404, { "content-type": "application/json" }).end(JSON.stringify({ error: { message } }));
      return;
    }
    const { api, route } = found;
    const asked: Asked = { body, headers: incoming.headers, ...route, world: this.world, transformations: [] };
    const kept = this.#keep(api, path, asked, response);
    try {
      await this.#answer(api, asked, kept, response);
    } catch (error) {
      // A mistake of this server or of a rule is told, or the client would wait for ever.
      if (response.headersSent) kept.line.cut();
      else response.writeHead(400, { "content-type": "text/plain" }).end(`protocol server: ${String(error)}`);
    }
  }

  #keep(api: Api, path: string, { body, headers, model, streaming }: Asked, response: ServerResponse): Kept {
    const { promise: ended, resolve } = Promise.withResolvers<Ending>();
    const request: OpenRequest = {
      ...{ api: api.name, path, model, headers, body, streaming },
      ...{ accepted: true, aborted: false, ended },
    };
    let isCut = false;
    response.on("close", () => {
      const complete = response.writableFinished;
      request.aborted = !complete && !isCut && !this.stopping;
      if (request.aborted) resolve("aborted");
      else if (!complete) resolve("broken");
      else resolve(request.accepted ? "answered" : "refused");
    });
    const cut = (): void => {
      isCut = true;
      response.destroy();
    };
    this.requests.push(request);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const tell of waiting) tell();
    return { request, line: { gone: ended, cut } };
  }

  async #answer(api: Api, asked: Asked, { request, line }: Kept, response: ServerResponse): Promise<void> {
    const pieces = api.prompt(asked);
    const tokens = tokensOf(pieces.map(({ text }) => text).join(""));
    const refused = this.#refusalOf(api, asked, tokens);
    if (refused !== undefined) {
      request.accepted = false;
      request.violation = { rule: refused.rule, message: refused.message };
      sendProblem(response, refused, api.errorBody(refused));
      return;
    }
    const answer = this.#next(request);
    if (answer === undefined) {
      const problem = {
        ...api.problem("bad_request", { tokens, max: 0 }),
        message: "protocol server: no answer is left for this request.",
      };
      sendProblem(response, problem, api.errorBody(problem));
      return;
    }
    const { error, message, retryAfterMs } = answer;
    const worded = (problem: Problem): Problem => (message === undefined ? problem : { ...problem, message });
    if (error !== undefined && error !== "refusal" && !isBreakage(error)) {
      const max = this.world.options.maxInputTokens ?? USUAL_WINDOW;
      const problem = worded(api.problem(error, { tokens: Math.max(tokens, max + 1), max }));
      sendProblem(response, problem, api.errorBody(problem, retryAfterMs), retryAfterMs);
      return;
    }
    const failure = worded(api.problem("server_error", { tokens, max: 0 }));
    if (error === "mid_stream" && !asked.streaming) {
      sendProblem(response, failure, api.errorBody(failure, retryAfterMs), retryAfterMs);
      return;
    }
    const rules = api.cacheRules(asked.model);
    const minTokens = this.world.options.cacheMinTokens ?? rules.minTokens;
    const cache = this.world.cacheOf(`${api.name} ${asked.model}`).pass(pieces, { ...rules, minTokens });
    const spoken = said(answer, this.world.next, api.callId, tokens, cache);
    request.usage = spoken.usage;
    const delivery = deliveryOf(answer, line);
    if (asked.streaming) await sendStream(response, api.stream(spoken, asked), api.broken(failure), delivery);
    else await sendWhole(response, api.whole(spoken, asked), delivery);
  }

  #refusalOf(api: Api, asked: Asked, tokens: number): Problem | undefined {
    try {
      api.check(asked);
    } catch (error) {
      if (error instanceof Refused) return error.problem;
      throw error;
    }
    const { maxInputTokens: max } = this.world.options;
    return max !== undefined && tokens > max ? api.problem("context_too_long", { tokens, max }) : undefined;
  }

  #next(request: ProtocolRequest): Answer | undefined {
    const queued = this.answers.shift();
    if (queued !== undefined) return queued;
    for (const rule of this.#rules) {
      const answer = rule(request);
      if (answer !== undefined) return answer;
    }
    return undefined;
  }
}

/** What is no JSON object has no fields, and is refused for that. */
async function bodyOf(incoming: IncomingMessage): Promise<JsonObject> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer); // a request without encoding yields buffers
  try {
    return objectOf(JSON.parse(Buffer.concat(chunks).toString("utf8")));
  } catch {
    return {};
  }
}
