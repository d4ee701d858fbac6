import { settingsOf } from "../../checkpoint/config.ts";
import { TokenError } from "../../checkpoint/error.ts";
import {
  claimsOf,
  fromBase64url,
  type ResumeState,
  readPayload,
  stateOf,
  type TokenClaims,
} from "../../checkpoint/payload.ts";
import { checkPrefix, split, tokenIdOf, verify } from "../../checkpoint/resume-tokens.ts";
import { defineCommand } from "../command.ts";
import { badUsage, EXIT } from "../io.ts";
import { table, when } from "../output.ts";

export const token = defineCommand({
  args: "[token]",
  options: {
    secret: { type: "boolean", help: "fail unless the secret in HEDDLE_TOKEN_SECRET signed the token" },
  },
  notes: [
    "Without a token, or with `-`, it is read from stdin. This keeps it out of the shell history. The signature is checked",
    "if HEDDLE_TOKEN_SECRET is set. Messages in the token are not shown, only their size.",
  ],
  examples: [
    { run: "heddle token < token.txt", does: "show run, phase, expiry, thread and size" },
    { run: "heddle token --json < token.txt", does: "print the same as JSON" },
  ],
  run: async ({ io, out, args, options }) => {
    const given = (args[0] === undefined || args[0] === "-" ? await pipedToken(io) : args[0]).trim();
    const { claims, state } = await openToken(given);
    const signature = await signatureOf(given, claims, io.env["HEDDLE_TOKEN_SECRET"] || undefined);
    const isExpired = claims.expMs !== undefined && io.now() > claims.expMs;
    const facts = factsOf(given, claims, state);
    if (out.isJson) await out.json({ ...facts, expired: isExpired, signature });
    else for (const line of table(linesOf(facts, isExpired, signature), out.width)) await out.data(line);
    if (signature === "bad") await out.error("The secret in HEDDLE_TOKEN_SECRET did not sign this token.");
    const isMissing = options.secret === true && signature === "not checked";
    if (isMissing) await out.error("The signature was not checked: set HEDDLE_TOKEN_SECRET.");
    return signature === "bad" || isMissing ? EXIT.failed : EXIT.ok;
  },
});

async function pipedToken(io: { readonly stdinIsTerminal: boolean; text(): Promise<string> }): Promise<string> {
  if (io.stdinIsTerminal) throw badUsage("Give the token as an argument, or pipe it in: heddle token < token.txt");
  return io.text();
}

/** Reads the token without checking its signature. */
async function openToken(given: string): Promise<{ readonly claims: TokenClaims; readonly state: ResumeState }> {
  checkPrefix(given);
  const bytes = fromBase64url(split(given).payload);
  if (bytes === undefined) {
    const message = "The payload of this token is not unpadded base64url. It was changed or cut. Pass the whole token.";
    throw new TokenError({ code: "invalid_base64", message });
  }
  const payload = await readPayload(bytes, settingsOf({ warn: () => undefined }));
  return { claims: claimsOf(payload), state: stateOf(payload) };
}

/** Checks only the signature. All other values that `verify` compares are taken from the token itself. */
async function signatureOf(
  given: string,
  { iss, iatMs, bind, configFingerprint }: TokenClaims,
  tokenSecret: string | undefined,
): Promise<"good" | "bad" | "not checked"> {
  if (tokenSecret === undefined) return "not checked";
  const same = { tokenIssuer: iss, configFingerprint, clock: () => iatMs, ...(bind !== null && { tokenBind: bind }) };
  try {
    await verify(given, { tokenSecret, ...same });
    return "good";
  } catch (error) {
    if (TokenError.isInstance(error) && error.code === "invalid_token_signature") return "bad";
    throw error;
  }
}

function factsOf(given: string, { iss, iatMs, expMs, bind, configFingerprint }: TokenClaims, state: ResumeState) {
  const { runId, requestId, phase, threadRef, context } = state;
  return {
    tokenId: tokenIdOf(given),
    phase,
    runId,
    requestId,
    issuer: iss,
    issuedAt: iatMs,
    ...(expMs !== undefined && { expiresAt: expMs }),
    bound: bind !== null,
    configFingerprint,
    ...(threadRef && { threadRef }),
    bytes: given.length,
    contextBytes: context === undefined ? 0 : Buffer.byteLength(JSON.stringify(context)),
  };
}

function linesOf(facts: ReturnType<typeof factsOf>, isExpired: boolean, signature: string): readonly string[][] {
  const { threadRef, expiresAt } = facts;
  return [
    ["phase", facts.phase],
    ["run", facts.runId],
    ["request", facts.requestId],
    [
      "thread",
      threadRef === undefined ? "none: the token carries the context" : `${threadRef.threadId} at rev ${threadRef.rev}`,
    ],
    ["issued", `${when(facts.issuedAt)} by ${facts.issuer}`],
    ["expires", expiresAt === undefined ? "never" : `${when(expiresAt)}${isExpired ? " (expired)" : ""}`],
    ["bound", facts.bound ? "yes" : "no"],
    ["config", facts.configFingerprint || "none"],
    ["size", `${facts.bytes} bytes, ${facts.contextBytes} of context`],
    ["id", facts.tokenId],
    ["signature", signature],
  ];
}
