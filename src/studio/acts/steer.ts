import type { Cancelled, Steered } from "../contract/act.ts";
import { objectOf } from "../http/body.ts";
import { contentIn, oneOf, optionalText, requiredText } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";

/** POST /api/threads/{id}/steer: sends text to the running request. Answers at once; an entry records the delivery. */
export async function steer({ studio, request, param }: Call): Promise<Answer<Steered>> {
  const body = await objectOf(request);
  const content = contentIn(body);
  const kind = oneOf(["steer", "inject", "follow_up"], optionalText(body, "kind") ?? "steer", "kind");
  const requestId = optionalText(body, "requestId");
  const source = kind === "inject" ? requiredText(body, "source") : "";
  const server = await studio.serverOf(param("id"));
  const options = { requestId };
  const answer =
    kind === "steer"
      ? server.steer(content, options)
      : kind === "follow_up"
        ? server.followUp(content, options)
        : server.inject(content, { ...options, source });
  const { id, accepted, reason } = answer;
  return json<Steered>({ id, accepted, ...(reason !== undefined && { reason }) }, accepted ? 202 : 409);
}

/** POST /api/threads/{id}/cancel: answers when the request has ended. */
export async function cancel({ studio, request, param }: Call): Promise<Answer<Cancelled>> {
  const body = await objectOf(request);
  const server = await studio.serverOf(param("id"));
  const cancelled = await server.cancel(optionalText(body, "requestId"), optionalText(body, "reason"));
  return json<Cancelled>({ cancelled });
}
