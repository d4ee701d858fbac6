import { base64url } from "../thread/base64url.ts";

/**
 * Decodes unpadded base64url; undefined when the text is invalid. Accepts only the canonical text: otherwise a changed token
 * could decode to the same signature and still verify.
 */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  const binary = decode(text.replaceAll("-", "+").replaceAll("_", "/"));
  if (binary === undefined) return undefined;
  const bytes = new Uint8Array(binary.length);
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index);
  return base64url(bytes) === text ? bytes : undefined;
}

function decode(base64: string): string | undefined {
  try {
    return atob(base64);
  } catch {
    return undefined;
  }
}
