import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { AgentRequest } from "../../runtime/request/request.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { Content } from "../../thread/message.ts";
import type { Asked } from "../contract/act.ts";
import { objectOf } from "../http/body.ts";
import { badField } from "../http/error.ts";
import { asContent, contentIn, optionalList, optionalObject } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { titleOf } from "../threads/titles.ts";

interface Ask {
  readonly contextPolicy?: ContextPolicyInput | undefined;
  readonly allowedTools?: readonly string[] | undefined;
}

/** POST /api/threads/{id}/ask: answers as soon as the ask is durable. The events of the thread report the rest. */
export async function ask({ studio, request, param }: Call): Promise<Answer<Asked>> {
  const id = param("id");
  const body = await objectOf(request);
  const content = contentIn(body);
  const allowedTools = optionalList(body, "allowedTools");
  if (allowedTools?.some((name) => typeof name !== "string")) throw badField("allowedTools", "a list of names");
  const options: Ask = {
    contextPolicy: optionalObject(body, "contextPolicy") as ContextPolicyInput | undefined, // checked when it is asked
    allowedTools: allowedTools as readonly string[] | undefined,
  };
  const next = optionalList(body, "next")?.map((one) => asContent(one, "next")) ?? offered(studio, content);
  const asked = await put(studio, id, content, options);
  if (next.length > 0) void goOn(studio, id, asked, next, options);
  return json<Asked>({ requestId: asked.id }, 202);
}

async function put(studio: Studio, id: string, content: Content, options: Ask): Promise<AgentRequest> {
  const thread = await studio.store.load(id, { last: 1 });
  if (thread === undefined) throw threadNotFound(id); // a mistyped id must not create a thread
  const { title } = thread.metadata;
  const isNamed = typeof title === "string" && title !== "";
  const name = isNamed ? "" : ((await studio.titles.firstWords(id, thread.rev)) ?? titleOf(content));
  const takeBack = isNamed || name === "" ? () => undefined : studio.titled.name(id, name);
  try {
    const context = studio.contextOf(id);
    const request = await studio.host.ask(id, content, { ...options, ...(context !== undefined && { context }) });
    studio.live.attach(id, request);
    return request;
  } finally {
    takeBack();
  }
}

/** The follow-up prompts of an offered prompt. */
function offered({ prompts }: Studio, content: Content): readonly string[] {
  return prompts.find(({ text }) => text === content)?.next ?? [];
}

/** Asks each after the answer to the one before. If one fails, the others are not asked. */
async function goOn(
  studio: Studio,
  id: string,
  first: AgentRequest,
  next: readonly Content[],
  options: Ask,
): Promise<void> {
  try {
    let before = first;
    for (const content of next) {
      await before.result;
      before = await put(studio, id, content, options);
    }
  } catch {} // the log and the events have the reason
}
