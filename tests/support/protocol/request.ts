import type { IncomingHttpHeaders } from "node:http";
import type { JsonObject } from "heddle";
import type { Usage } from "./answer.ts";
import type { ApiName } from "./api.ts";

/** How a request ended: told all it had to be told, refused, given up by the client, or broken off by the server. */
export type Ending = "answered" | "refused" | "aborted" | "broken";

/** A request as it arrived, and what became of it. */
export interface ProtocolRequest {
  readonly api: ApiName;
  readonly path: string;
  readonly model: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: JsonObject;
  readonly streaming: boolean;
  /** The provider would have taken it; it may still have got an error that was asked for. */
  readonly accepted: boolean;
  /** What it was refused for. */
  readonly violation?: { readonly rule: string; readonly message: string };
  /** What the answer says it has used. */
  readonly usage?: Usage;
  /** The client closed the connection before it had the whole answer. */
  readonly aborted: boolean;
  readonly ended: Promise<Ending>;
}

/** The same while it is being dealt with. */
export type OpenRequest = { -readonly [field in keyof ProtocolRequest]: ProtocolRequest[field] };
