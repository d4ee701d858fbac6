/** So many bytes at once that their characters are arguments of one call on every engine. A multiple of three. */
const CHUNK = 24_576;

export function base64Of(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text += btoa(String.fromCharCode(...bytes.subarray(at, at + CHUNK)));
  }
  return text;
}
