import { threadNotFound } from "../../stores/errors.ts";
import type { Decided } from "../contract/act.ts";
import { objectOf } from "../http/body.ts";
import { badField } from "../http/error.ts";
import { optionalText, requiredText } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";

/** POST /api/threads/{id}/approve and .../deny: answers when the decision is durable. */
export function decide(verdict: "approve" | "deny"): (call: Call) => Promise<Answer<Decided>> {
  return async ({ studio, request, param }) => {
    const body = await objectOf(request);
    const toolCallId = requiredText(body, "toolCallId");
    const [by, note] = [optionalText(body, "by"), optionalText(body, "note")];
    const id = await known(studio, param("id"));
    await studio.host[verdict](id, toolCallId, { by, note });
    void studio.resume(id);
    return json<Decided>({ decided: true });
  };
}

/** POST /api/threads/{id}/answer: the result of a call of a tool that runs outside. */
export async function answer({ studio, request, param }: Call): Promise<Answer<Decided>> {
  const body = await objectOf(request);
  const toolCallId = requiredText(body, "toolCallId");
  const { output } = body;
  if (output === undefined) throw badField("output", "JSON, and is missing");
  const id = await known(studio, param("id"));
  await studio.host.answer(id, toolCallId, output);
  void studio.resume(id);
  return json<Decided>({ decided: true });
}

async function known({ store }: Studio, id: string): Promise<string> {
  if ((await store.load(id, { last: 1 })) === undefined) throw threadNotFound(id);
  return id;
}
