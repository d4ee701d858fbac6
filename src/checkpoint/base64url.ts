import { base64url } from "../thread/base64url.ts";

/**
 * The bytes of unpadded base64url; undefined when it is none. Only the one text that encoding gives is taken: were
 * others read as the same signature, a changed token could still verify.
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
