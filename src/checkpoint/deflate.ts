import { TokenError, tooLarge } from "./error.ts";

/** The first byte of a deflated payload. A JSON payload starts with a brace. */
const DEFLATED = 1;
const BRACE = 0x7b;
/** The smallest payload to deflate, in bytes. */
const WORTH_IT = 1024;

type Bytes = Uint8Array<ArrayBuffer>;

/** Encodes JSON text as a payload. Deflates a large one if the platform supports it. */
export async function pack(json: Bytes): Promise<Bytes> {
  if (json.length < WORTH_IT || typeof CompressionStream === "undefined") return json;
  return concat([Uint8Array.of(DEFLATED), ...(await drain(json, new CompressionStream("deflate-raw")))]);
}

/** Decodes a payload to JSON text of at most `limit` bytes, which protects against zip bombs. */
export async function unpack(payload: Bytes, limit: number): Promise<Bytes> {
  if (payload[0] === BRACE) return payload;
  if (payload[0] !== DEFLATED) throw invalidPayload("its first byte is neither that of JSON nor of a deflated payload");
  if (typeof DecompressionStream === "undefined")
    throw invalidPayload("this platform has no DecompressionStream to inflate it");
  const pieces = drain(payload.subarray(1), new DecompressionStream("deflate-raw"), limit);
  return concat(
    await pieces.catch((error: unknown) => {
      throw TokenError.isInstance(error) ? error : invalidPayload("it cannot be inflated");
    }),
  );
}

export function invalidPayload(trouble: string): TokenError {
  const message = `The payload of this token is signed, but ${trouble}. Was it minted by something else with your secret?`;
  return new TokenError({ code: "invalid_token_payload", message });
}

/** Reads the stream to the end. Throws as soon as the output exceeds the limit. */
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
