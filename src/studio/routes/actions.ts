import type { ContextOperation } from "../../lanes/context-operation.ts";
import type { ContextPolicyInput } from "../../projection/policy/fields.ts";
import type { AgentRequest } from "../../runtime/request/request.ts";
import type { OperationAnswer } from "../../runtime/server/modify.ts";
import type { DecideOptions } from "../../runtime/server/options.ts";
import { chatTurn } from "../../runtime/ui-messages/chat-turn.ts";
import type { UIMessageLike } from "../../runtime/ui-messages/message.ts";
import { toUIMessages } from "../../runtime/ui-messages/to-ui-messages.ts";
import { threadNotFound } from "../../stores/errors.ts";
import { firstWords } from "../../stores/sums.ts";
import { type Content, contentText } from "../../thread/message.ts";
import type {
  AccessCode,
  AccessToken,
  AskAccepted,
  CancelResult,
  DecisionResult,
  Info,
  OperationResult,
  SteerResult,
  SummaryResult,
} from "../contract.ts";
import {
  asContent,
  contentIn,
  objectOf,
  oneOf,
  optionalList,
  optionalObject,
  optionalSeq,
  optionalText,
  requiredText,
} from "../http/request.ts";
import { badField, type JsonResponse, json, StudioError } from "../http/response.ts";
import type { RouteCall } from "../http/router.ts";
import type { Studio } from "../studio.ts";
import { VERSION } from "../version.ts";
import { WIRES } from "./calls.ts";

interface Ask {
  readonly contextPolicy?: ContextPolicyInput | undefined;
  readonly allowedTools?: readonly string[] | undefined;
}

/**
 * POST /api/threads/{id}/ask. Answers when the message is stored. The thread's events report the answer of the model.
 */
export async function ask({ studio, request, param }: RouteCall): Promise<JsonResponse<AskAccepted>> {
  const id = param("id");
  const body = await objectOf(request);
  const regenerate = optionalText(body, "regenerate");
  const content = regenerate === undefined ? contentIn(body) : "";
  const allowedTools = optionalList(body, "allowedTools");
  if (allowedTools?.some((name) => typeof name !== "string")) throw badField("allowedTools", "a list of names");
  const options: Ask = {
    contextPolicy: optionalObject(body, "contextPolicy") as ContextPolicyInput | undefined, // the agent checks the policy
    allowedTools: allowedTools as readonly string[] | undefined,
  };
  const busy = optionalText(body, "busy");
  const turn: Turn = {
    ...{ content, regenerate, edit: optionalText(body, "edit"), messageId: optionalText(body, "messageId") },
    busy: busy === undefined ? undefined : oneOf(["deny", "cancel"] as const, busy, "busy"),
  };
  const isTurn = [turn.regenerate, turn.edit, turn.messageId, turn.busy].some((given) => given !== undefined);
  if (isTurn) return json<AskAccepted>({ requestId: await takeTurn(studio, id, turn, options) }, 202);
  const next = optionalList(body, "next")?.map((one) => asContent(one, "next")) ?? followUpsOf(studio, content);
  const [agent, requestId] = [optionalText(body, "agent"), optionalText(body, "requestId")];
  const named = { ...(agent !== undefined && { agent }), ...(requestId !== undefined && { requestId }) };
  const asked = await startRequest(studio, id, content, { ...options, ...named });
  if (next.length > 0) void askFollowUps(studio, id, asked, next, options);
  return json<AskAccepted>({ requestId: asked.id }, 202);
}

interface Turn {
  readonly content: Content;
  /** The id of the message that `content` replaces. */
  readonly edit: string | undefined;
  /** The id of the answer to give once more. */
  readonly regenerate: string | undefined;
  readonly busy: "deny" | "cancel" | undefined;
  readonly messageId: string | undefined;
}

/** The person who decided in the page, for the log. Studio has no users. */
const STUDIO = "studio";

/** Asks as `chatTurn` does: an edit and a regenerated answer begin a branch, and a message may deny the calls that wait. */
async function takeTurn(studio: Studio, id: string, turn: Turn, options: Ask): Promise<string> {
  await checkExists(studio, id); // a mistyped id must not create a thread
  const { content, edit, regenerate, messageId = edit, busy } = turn;
  const { host } = studio;
  const parts = await partsOf(studio, id, content, edit);
  const context = await studio.contextOf(id);
  const given = { ...options, ...(context !== undefined && { context }), by: STUDIO };
  const policy = busy === "cancel" ? { busy } : {};
  const message: UIMessageLike & { readonly id: string | undefined } = { id: messageId, role: "user", parts };
  const asked =
    regenerate === undefined
      ? await chatTurn(host, id, [message], { ...given, ...policy, messageId: edit })
      : await chatTurn(host, id, [], { ...given, trigger: "regenerate-message", messageId: regenerate });
  if (asked.joined === true) void studio.resume(id);
  else studio.live.attach(id, asked.request);
  return asked.request.id;
}

/** The text as parts. An edited message keeps its files. */
async function partsOf(
  { host }: Studio,
  id: string,
  content: Content,
  edit: string | undefined,
): Promise<readonly { readonly type: string }[]> {
  const text = { type: "text", text: contentText(content) };
  if (edit === undefined) return [text];
  const messages = toUIMessages(await host.thread(id, { whole: true }));
  const edited = messages.findLast((message) => message.id === edit && message.role === "user");
  const files = edited?.parts.filter(({ type }) => type === "file") ?? [];
  return [...files, text];
}

async function startRequest(
  studio: Studio,
  id: string,
  content: Content,
  options: Ask & { readonly agent?: string; readonly requestId?: string },
): Promise<AgentRequest> {
  const thread = await studio.store.load(id, { last: 1 });
  if (thread === undefined) throw threadNotFound(id); // a mistyped id must not create a thread
  const { metadata } = thread;
  const { title } = metadata;
  const isNamed = typeof title === "string" && title !== "";
  const name = isNamed ? "" : ((await studio.titles.firstWords(id, thread.rev)) ?? firstWords(content));
  const takeBack = isNamed || name === "" ? () => undefined : studio.titled.name(id, name);
  try {
    const context = await studio.contextOf(id);
    const request = await studio.host.ask(id, content, {
      ...(thread.rev === 0 && { agent: (studio.agentNamed(metadata["agent"]) ?? studio.agent).name }),
      ...options,
      ...(context !== undefined && { context }),
    });
    studio.live.attach(id, request);
    return request;
  } finally {
    takeBack();
  }
}

/** Returns the follow-up prompts of an offered prompt. Other messages have none. */
function followUpsOf({ prompts }: Studio, content: Content): readonly string[] {
  return prompts.find(({ text }) => text === content)?.next ?? [];
}

/** Asks each follow-up after the answer to the previous one. After a failure, the rest is not asked. */
async function askFollowUps(
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
      before = await startRequest(studio, id, content, options);
    }
  } catch {} // the log and the events contain the error
}

/**
 * POST /api/threads/{id}/steer: sends text to the running request. Answers when the text is durable; an entry later records
 * the delivery.
 */
export async function steer({ studio, request, param }: RouteCall): Promise<JsonResponse<SteerResult>> {
  const body = await objectOf(request);
  const content = contentIn(body);
  const kind = oneOf(["steer", "inject", "follow_up"], optionalText(body, "kind") ?? "steer", "kind");
  const requestId = optionalText(body, "requestId");
  const source = kind === "inject" ? requiredText(body, "source") : "";
  const id = await checkExists(studio, param("id"));
  const { host } = studio;
  const options = { requestId };
  const answer =
    kind === "steer"
      ? host.steer(id, content, options)
      : kind === "follow_up"
        ? host.followUp(id, content, options)
        : host.inject(id, content, { ...options, source });
  const { id: steerId, accepted, reason } = await answer;
  if (accepted) void studio.resume(id); // this process may have resumed the request for it
  return json<SteerResult>({ id: steerId, accepted, ...(reason !== undefined && { reason }) }, accepted ? 202 : 409);
}

/** POST /api/threads/{id}/cancel: answers when the request has ended. */
export async function cancel({ studio, request, param }: RouteCall): Promise<JsonResponse<CancelResult>> {
  const body = await objectOf(request);
  const id = param("id");
  // Without entries, it may have an ask that waits for its time.
  if ((await studio.host.pending(id)).length === 0) await checkExists(studio, id);
  const cancelled = await studio.host.cancel(id, optionalText(body, "requestId"), optionalText(body, "reason"));
  return json<CancelResult>({ cancelled });
}

/** POST /api/threads/{id}/approve and .../deny. Answers when the decision is stored. */
export function decide(verdict: "approve" | "deny"): (call: RouteCall) => Promise<JsonResponse<DecisionResult>> {
  return async ({ studio, request, param }) => {
    const body = await objectOf(request);
    const toolCallId = requiredText(body, "toolCallId");
    const [by, reason] = [optionalText(body, "by"), optionalText(body, "reason")];
    const remember = optionalObject(body, "remember") as DecideOptions["remember"]; // the host checks it
    const { arguments: edited } = body;
    if (verdict === "deny" && edited !== undefined)
      throw badField("arguments", "absent: a call that is denied does not run");
    const id = await checkExists(studio, param("id"));
    const options = { by, reason, remember };
    if (verdict === "deny") await studio.host.deny(id, toolCallId, options);
    else await studio.host.approve(id, toolCallId, { ...options, arguments: edited });
    void studio.resume(id);
    return json<DecisionResult>({ decided: true });
  };
}

/** POST /api/threads/{id}/answer: gives the result of a tool call that runs outside the agent. */
export async function answer({ studio, request, param }: RouteCall): Promise<JsonResponse<DecisionResult>> {
  const body = await objectOf(request);
  const toolCallId = requiredText(body, "toolCallId");
  const { output } = body;
  if (output === undefined) throw badField("output", "JSON, and is missing");
  const id = await checkExists(studio, param("id"));
  await studio.host.answer(id, toolCallId, output);
  void studio.resume(id);
  return json<DecisionResult>({ decided: true });
}

async function checkExists({ store }: Studio, id: string): Promise<string> {
  if ((await store.load(id, { last: 1 })) === undefined) throw threadNotFound(id);
  return id;
}

/** POST /api/threads/{id}/context: replaces the context of a lane, or switches to another lane. */
export async function changeContext({ studio, request, param }: RouteCall): Promise<JsonResponse<OperationResult>> {
  const body = await objectOf(request);
  const operation = optionalObject(body, "operation");
  if (operation === undefined) throw badField("operation", "an object, and is missing");
  const contextRef = optionalText(body, "contextRef");
  const opId = optionalText(body, "opId");
  const id = await checkExists(studio, param("id"));
  const answer = await studio.host.modifyContext(id, {
    operation: operation as unknown as ContextOperation["operation"], // checked by modifyContext
    ...(contextRef !== undefined && { contextRef }),
    ...(opId !== undefined && { opId }),
  });
  return operationResponse(answer);
}

/** POST /api/threads/{id}/reset: clears the context of the model; the thread keeps its entries. */
export async function reset({ studio, param }: RouteCall): Promise<JsonResponse<OperationResult>> {
  return operationResponse(await studio.host.reset(await checkExists(studio, param("id"))));
}

/** POST /api/threads/{id}/summarize: answers when the summary is in the log. */
export async function summarize({ studio, request, param }: RouteCall): Promise<JsonResponse<SummaryResult>> {
  const body = await objectOf(request);
  const [fromSeq, toSeq] = [optionalSeq(body, "fromSeq"), optionalSeq(body, "toSeq")];
  const id = await checkExists(studio, param("id"));
  const { seq } = await studio.host.summarize(id, {
    ...(fromSeq !== undefined && { fromSeq }),
    ...(toSeq !== undefined && { toSeq }),
  });
  return json<SummaryResult>({ seq });
}

function operationResponse({ opId, status }: OperationAnswer): JsonResponse<OperationResult> {
  return json<OperationResult>({ opId, status }, status === "deferred" ? 202 : 200);
}

/** GET /api/info */
export async function studioInfo({ studio }: RouteCall): Promise<JsonResponse<Info>> {
  const { readOnly, isDemo: demo, prompts, label: store, agent, agents } = studio;
  const { tools } = await studio.settings;
  return json<Info>({
    name: "heddle",
    version: VERSION,
    readOnly,
    demo,
    model: studio.modelOf(agent),
    agent: agent.name,
    agents: agents.map((each) => {
      return { name: each.name, model: studio.modelOf(each), tools: Object.keys(each.tools) };
    }),
    tools: tools.map(({ name, description }) => ({ name, description })),
    prompts,
    store,
    providers: WIRES,
    importLimit: studio.importLimit,
  });
}

/** POST /api/enter: exchanges a one-time code for the token. */
export async function enter({ studio, request }: RouteCall): Promise<JsonResponse<AccessToken>> {
  const code = requiredText(await objectOf(request), "code");
  const { access } = studio;
  if (access?.redeem(code)) return json<AccessToken>({ token: access.token });
  const message = "This address was used already, or Studio was restarted. Open a new address, or enter the token.";
  throw new StudioError({ code: "code_used", status: 401, message });
}

/** POST /api/codes: makes a one-time code for a URL. A download needs it, because it cannot send the token header. */
export async function mintCode({ studio }: RouteCall): Promise<JsonResponse<AccessCode>> {
  return json<AccessCode>({ code: studio.access?.mintCode() ?? "" }, 201);
}
