import type { ContextOperation } from "../../agent/operation.ts";
import type { OperationAnswer } from "../../runtime/session/operation-answer.ts";
import type { Operated, Summarised } from "../contract/act.ts";
import { objectOf } from "../http/body.ts";
import { badField } from "../http/error.ts";
import { optionalObject, optionalSeq, optionalText } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";

/** POST /api/threads/{id}/context: replaces the context of a lane, or switches to another lane. */
export async function changeContext({ studio, request, param }: Call): Promise<Answer<Operated>> {
  const body = await objectOf(request);
  const operation = optionalObject(body, "operation");
  if (operation === undefined) throw badField("operation", "an object, and is missing");
  const contextRef = optionalText(body, "contextRef");
  const opId = optionalText(body, "opId");
  const server = await studio.serverOf(param("id"));
  const answer = await server.modifyContext({
    operation: operation as unknown as ContextOperation["operation"], // checked by modifyContext
    ...(contextRef !== undefined && { contextRef }),
    ...(opId !== undefined && { opId }),
  });
  return operated(answer);
}

/** POST /api/threads/{id}/reset: clears the context of the model; the thread keeps its entries. */
export async function reset({ studio, param }: Call): Promise<Answer<Operated>> {
  return operated(await (await studio.serverOf(param("id"))).reset());
}

/** POST /api/threads/{id}/summarize: answers when the summary is in the log. */
export async function summarize({ studio, request, param }: Call): Promise<Answer<Summarised>> {
  const body = await objectOf(request);
  const [fromSeq, toSeq] = [optionalSeq(body, "fromSeq"), optionalSeq(body, "toSeq")];
  const server = await studio.serverOf(param("id"));
  const { seq } = await server.summarize({
    ...(fromSeq !== undefined && { fromSeq }),
    ...(toSeq !== undefined && { toSeq }),
  });
  return json<Summarised>({ seq });
}

function operated({ opId, status }: OperationAnswer): Answer<Operated> {
  return json<Operated>({ opId, status }, status === "deferred" ? 202 : 200);
}
