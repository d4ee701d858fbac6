import { threadNotFound } from "../../stores/errors.ts";
import { Thread } from "../../thread/thread.ts";
import type { Deleted } from "../contract/act.ts";
import type { ThreadRow } from "../contract/thread.ts";
import { objectOf } from "../http/body.ts";
import { StudioError } from "../http/error.ts";
import { optionalText } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import { rowOf } from "./row.ts";

/** POST /api/threads: creates an empty thread. */
export async function createThread({ studio, request }: Call): Promise<Answer<ThreadRow>> {
  const body = await objectOf(request);
  const title = optionalText(body, "title")?.trim();
  const { clock, ids } = studio.ports;
  const metadata = { agent: studio.agent.name, ...(title && { title }) };
  const thread = Thread.create({ clock, ids, metadata });
  await studio.store.save(thread);
  studio.live.changes.ring();
  return json(await rowOf(studio, thread), 201);
}

/** DELETE /api/threads/{id} */
export async function deleteThread({ studio, param }: Call): Promise<Answer<Deleted>> {
  const id = param("id");
  if (studio.live.get(id)?.state === "running") {
    const message = "A request is running in this thread. Cancel it first.";
    throw new StudioError({ code: "busy", status: 409, message, retryable: true });
  }
  if (!(await studio.store.delete(id))) throw threadNotFound(id);
  studio.live.noteDeleted(id);
  return json<Deleted>({ deleted: true });
}
