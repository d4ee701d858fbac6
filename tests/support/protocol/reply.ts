import type { ServerResponse } from "node:http";
import type { JsonObject } from "heddle";
import type { Answer, Breakage } from "./answer.ts";
import type { Problem } from "./problem.ts";
import type { Frame } from "./sse.ts";

/** What of an answer goes wrong on the way, and where. */
export interface Delivery {
  readonly breakage: Breakage | undefined;
  readonly after: number;
  readonly waitFor: Promise<unknown> | undefined;
  /** Resolves when the client is gone. */
  readonly gone: Promise<unknown>;
  /** Closes the connection, and says that it was not the client. */
  readonly cut: () => void;
}

export function deliveryOf({ error, after = 1, waitFor }: Answer, line: Pick<Delivery, "gone" | "cut">): Delivery {
  return { breakage: isBreakage(error) ? error : undefined, after, waitFor, ...line };
}

export function isBreakage(error: Answer["error"]): error is Breakage {
  return error === "mid_stream" || error === "cut" || error === "stall" || error === "malformed";
}

export function sendProblem(response: ServerResponse, problem: Problem, body: JsonObject, retryAfterMs?: number): void {
  const text = JSON.stringify(body);
  const retry =
    retryAfterMs === undefined
      ? {}
      : { "retry-after-ms": String(retryAfterMs), "retry-after": String(Math.ceil(retryAfterMs / 1000)) };
  response.writeHead(problem.status, { "content-type": "application/json", ...retry }).end(text);
}

/** Sends the answer in one piece; what would break a stream breaks it in the middle. */
export async function sendWhole(
  response: ServerResponse,
  body: JsonObject,
  { breakage, waitFor, gone, cut }: Delivery,
): Promise<void> {
  if (waitFor !== undefined) await Promise.race([waitFor, gone]);
  if (breakage === "stall") {
    await gone;
    return;
  }
  const text = JSON.stringify(body);
  const half = text.slice(0, text.length / 2);
  if (breakage === "malformed") {
    response.writeHead(200, { "content-type": "application/json" }).end(half);
    return;
  }
  const head = { "content-type": "application/json", "content-length": Buffer.byteLength(text) };
  response.writeHead(200, head);
  if (breakage !== "cut") {
    response.end(text);
    return;
  }
  await written(response, half);
  cut();
}

export async function sendStream(
  response: ServerResponse,
  frames: readonly Frame[],
  broken: readonly Frame[],
  { breakage, after, waitFor, gone, cut }: Delivery,
): Promise<void> {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" });
  const pause = placeAfter(frames, after);
  for (const frame of frames.slice(0, pause)) await written(response, frame.text);
  if (pause === 0) response.flushHeaders();
  if (waitFor !== undefined) await Promise.race([waitFor, gone]);
  switch (breakage) {
    case "cut":
      cut();
      return;
    case "stall":
      await gone;
      return;
    case "mid_stream":
      for (const frame of broken) await written(response, frame.text);
      response.end();
      return;
    case "malformed":
      await written(response, 'data: {"oops\n\n');
      break;
    case undefined:
      break;
    default:
      breakage satisfies never;
  }
  for (const frame of frames.slice(pause)) await written(response, frame.text);
  response.end();
}

/** The index behind so many deltas, or behind the last; where nothing is said, behind what comes before. */
function placeAfter(frames: readonly Frame[], deltas: number): number {
  if (deltas <= 0) return 0;
  const places = frames.flatMap(({ place }, index) => (place === "delta" ? [index] : []));
  return (places[deltas - 1] ?? places.at(-1) ?? frames.findLastIndex(({ place }) => place === "head")) + 1;
}

/** Resolves when it is on its way, or when nobody is there to take it. */
function written(response: ServerResponse, text: string): Promise<void> {
  return new Promise((resolve) => {
    if (response.destroyed) resolve();
    else response.write(text, () => resolve());
  });
}
