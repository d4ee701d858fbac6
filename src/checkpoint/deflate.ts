import { TokenError, tooLarge } from "./error.ts";

/** The first byte of a deflated payload; that of JSON is a brace. */
const DEFLATED = 1;
const BRACE = 0x7b;
/** Smaller payloads gain little. */
const WORTH_IT = 1024;

type Bytes = Uint8Array<ArrayBuffer>;

/** JSON text as the bytes of a payload: deflated when it is big and the platform can. */
export async function pack(json: Bytes): Promise<Bytes> {
  if (json.length < WORTH_IT || typeof CompressionStream === "undefined") return json;
  return concat([Uint8Array.of(DEFLATED), ...(await drain(json, new CompressionStream("deflate-raw")))]);
}

/** The JSON text of a payload, of `limit` bytes at most: a bomb costs no more memory than that. */
export async function unpack(payload: Bytes, limit: number): Promise<Bytes> {
  if (payload[0] === BRACE) return payload;
  if (payload[0] !== DEFLATED) throw invalidPayload("its first byte says neither JSON nor deflate");
  if (typeof DecompressionStream === "undefined") throw invalidPayload("this platform cannot inflate it");
  const pieces = drain(payload.subarray(1), new DecompressionStream("deflate-raw"), limit);
  return concat(
    await pieces.catch((error: unknown) => {
      throw TokenError.isInstance(error) ? error : invalidPayload("it does not inflate");
    }),
  );
}

export function invalidPayload(trouble: string): TokenError {
  const message = `The payload of this token is signed, but ${trouble}. Was it minted by something else with your secret?`;
  return new TokenError({ code: "invalid_token_payload", message });
}

/** What comes out of the stream; an error as soon as it is more than the limit. */
async function drain(
  bytes: Bytes,
  through: CompressionStream | DecompressionStream,
  limit = Number.POSITIVE_INFINITY,
): Promise<readonly Uint8Array[]> {
  const reader = new Blob([bytes]).stream().pipeThrough(through).getReader();
  const pieces: Uint8Array[] = [];
  let length = 0;
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    pieces.push(read.value);
    length += read.value.length;
    if (length <= limit) continue;
    await reader.cancel();
    throw tooLarge(length, limit, "Raise tokenMaxBytes if it is yours.");
  }
  return pieces;
}

function concat(pieces: readonly Uint8Array[]): Bytes {
  const whole = new Uint8Array(pieces.reduce((length, piece) => length + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    whole.set(piece, at);
    at += piece.length;
  }
  return whole;
}
