import type { JsonObject } from "heddle";

type Place = "head" | "delta" | "rest";

/** One server-sent event. */
export interface Frame {
  readonly text: string;
  /** "head" comes before anything is said, "delta" brings a piece of it, "rest" is all between and behind. */
  readonly place: Place;
}

export function dataFrame(data: JsonObject, place: Place = "rest"): Frame {
  return { text: `data: ${JSON.stringify(data)}\n\n`, place };
}

/** As Anthropic and the Responses API have it: the type of the data is also the name of the event. */
export function namedFrame(data: JsonObject & { readonly type: string }, place: Place = "rest"): Frame {
  return { text: `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`, place };
}
