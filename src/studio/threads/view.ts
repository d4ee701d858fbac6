import { counterFor } from "../../agent/react/counter.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import { ContextPolicy } from "../../projection/policy/policy.ts";
import { resolvePolicy } from "../../projection/policy/resolve.ts";
import { createProjector } from "../../projection/projector.ts";
import { withMore } from "../../runtime/session/load.ts";
import { threadNotFound } from "../../stores/errors.ts";
import type { ToolSpec } from "../../thread/message.ts";
import type { ThreadView } from "../contract/call.ts";
import { objectOf } from "../http/body.ts";
import { optionalList, optionalObject, optionalSeq, optionalText } from "../http/fields.ts";
import { type Answer, json } from "../http/reply.ts";
import type { Call } from "../http/router.ts";

const FIRST = 200;

/** POST /api/threads/{id}/view: the context that a model would get, at any entry, with any policy. Changes nothing. */
export async function viewThread({ studio, request, param }: Call): Promise<Answer<ThreadView>> {
  const id = param("id");
  const body = await objectOf(request);
  const settings = await studio.settings;
  const given = optionalObject(body, "policy") as ContextPolicyInput | undefined; // checked by ContextPolicy
  const model = optionalText(body, "model") ?? settings.model;
  const maxOutputTokens = settings.call["maxOutputTokens"];
  const policy =
    given !== undefined
      ? ContextPolicy.create(given)
      : resolvePolicy({
          definition: settings.contextPolicy,
          model,
          ...(typeof maxOutputTokens === "number" && { maxOutputTokens }),
        });
  const atSeq = optionalSeq(body, "atSeq");
  let thread = await studio.store.load(id, { last: FIRST, ...(atSeq !== undefined && { upToSeq: atSeq }) });
  if (thread === undefined) throw threadNotFound(id);
  const projector = createProjector({ keep: 1 });
  const input = {
    policy,
    system: optionalText(body, "system") ?? settings.systemPrompt,
    tools: (optionalList(body, "tools") as readonly ToolSpec[] | undefined) ?? settings.tools, // checked by project
    lane: optionalText(body, "lane"),
    model,
    readers: settings.readers,
    tokenCounter: counterFor(policy, { ...settings, model }, thread),
  };
  for (;;) {
    try {
      const projection = projector.project({ ...input, thread });
      return json<ThreadView>({ ...projection, explained: projector.explain({ ...input, thread }), policy });
    } catch (error) {
      thread = await withMore(studio.store, thread, error);
    }
  }
}
