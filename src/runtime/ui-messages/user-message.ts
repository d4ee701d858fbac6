import { type MutableJson, thaw, thawObject } from "../../providers/message-parts.ts";
import type { Entry } from "../../thread/entry.ts";
import { copyJsonRepaired, isPlainObject, type JsonObject, type JsonValue, sameJson } from "../../thread/json.ts";
import type { Author, Content } from "../../thread/message.ts";
import { messagesFromEntries } from "../../thread/messages/to-messages.ts";
import type { PendingCommand } from "../server/pending.ts";
import type {
  UIChatMessage,
  UIDataPart,
  UIFilePart,
  UIMessageLike,
  UIPart,
  UISteeringPart,
  UITextPart,
} from "./message.ts";
import { uiPartsOfUser } from "./message.ts";

/**
 * The rest of a message of a page, beside its content. `parts` are all parts in order, if the content has not all of them. Each is
 * the index of a part of the content, this index with further fields, or a whole part.
 */
interface Display {
  readonly metadata?: JsonValue;
  readonly parts?: readonly (number | readonly [number, JsonObject] | JsonObject)[];
}

/** The display of a message that a page has posted. Undefined when its content is all of it. */
export function displayOf(message: UIMessageLike | undefined, content: Content): JsonObject | undefined {
  const { metadata, parts } = copyJsonRepaired(message ?? {}, "message") as JsonObject; // the copy of an object is one
  const own = uiPartsOfUser(content) as unknown as readonly JsonObject[]; // parts are JSON
  let next = 0;
  const placed = (Array.isArray(parts) ? parts.filter(isPlainObject) : []).map((part) => {
    const at = own.findIndex((one, index) => index >= next && hasFields(part as JsonObject, one));
    if (at < 0) return part as JsonObject; // a copy of JSON
    next = at + 1;
    const more = Object.entries(part as JsonObject).filter(([name]) => own[at]?.[name] === undefined); // as above
    return more.length === 0 ? at : ([at, Object.fromEntries(more)] as const);
  });
  const isWhole = placed.length === own.length && placed.every((part, index) => part === index);
  // The metadata of Heddle is never taken from a page.
  const { heddle: _ofHeddle, ...others } = isPlainObject(metadata) ? (metadata as JsonObject) : {}; // as above
  const kept = isPlainObject(metadata) && "heddle" in metadata ? others : metadata;
  const isBare = kept === undefined || (kept !== metadata && Object.keys(others).length === 0);
  if (isWhole && isBare) return undefined;
  return { ...(!isBare && { metadata: kept }), ...(!isWhole && { parts: placed }) };
}

function hasFields(part: JsonObject, fields: JsonObject): boolean {
  return Object.entries(fields).every(([name, value]) => sameJson(part[name], value));
}

/** The display of an ask, or of a message that was imported. */
export function displayIn(entry: Entry): JsonObject | undefined {
  const { content = "", original }: JsonObject = entry.payload;
  if (original === undefined) return storedDisplay(entry);
  const [message] = messagesFromEntries([entry], "ui-messages", { isForPage: true }) as readonly UIMessageLike[]; // as the format has it
  return displayOf(message, content as Content); // read as a message
}

/** The display that an ask has stored. */
export function storedDisplay({ payload }: Entry): JsonObject | undefined {
  const { options } = payload as JsonObject; // every payload is a JSON object
  const display = isPlainObject(options) ? options["display"] : undefined;
  return isPlainObject(display) ? (display as JsonObject) : undefined; // a part of a payload
}

/** The parts and the metadata of a message as its page has posted it. */
export function shownUserMessage(
  content: Content,
  display: Display = {},
): { readonly parts: UIPart[]; readonly metadata: MutableJson | undefined } {
  const metadata = display.metadata === undefined ? undefined : thaw(display.metadata);
  const own: readonly (UITextPart | UIFilePart)[] = uiPartsOfUser(content);
  if (!Array.isArray(display.parts)) return { parts: [...own], metadata };
  const shown = display.parts.flatMap((part: NonNullable<Display["parts"]>[number]): readonly UIPart[] => {
    const [at, more] = typeof part === "number" ? [part, {}] : Array.isArray(part) ? part : [-1, part];
    const of = own[at];
    if (at >= 0 && of === undefined) return [];
    return [{ ...of, ...thawObject(more as JsonObject) } as unknown as UIPart]; // as the page has posted it
  });
  return { parts: shown, metadata };
}

/** The metadata of a message, with the person or the program that wrote it. */
export function withOrigin(
  posted: MutableJson | undefined,
  { author, source }: { readonly author?: Author | undefined; readonly source?: string | undefined },
): MutableJson | undefined {
  if (author === undefined && source === undefined) return posted;
  const heddle = { ...(author && { author: { ...author } }), ...(source !== undefined && { source }) };
  return { ...(isPlainObject(posted) ? posted : {}), heddle };
}

/** The messages of asks that wait for their turn, without those for a later time. */
export function queuedMessages(pending: readonly PendingCommand[]): readonly UIChatMessage[] {
  return pending.flatMap((command): readonly UIChatMessage[] => {
    if (command.type !== "ask" || command.at !== undefined) return [];
    const { messageId = command.id } = command.refs ?? {};
    return [{ id: `${messageId}`, role: "user", parts: uiPartsOfUser(command.content) }];
  });
}

/** The parts of an answer that show a message to its request. Only text and files can be inside of a steering message. */
export function steeringParts(
  id: string,
  content: Content,
  { author, display }: { readonly author?: Author | undefined; readonly display?: JsonObject | undefined },
): readonly (UISteeringPart | UIDataPart)[] {
  const { parts, metadata: posted } = shownUserMessage(content, display);
  const metadata = withOrigin(posted, { author });
  const said = parts.filter((part) => part.type === "text" || part.type === "file");
  const data = parts.filter((part) => part.type.startsWith("data-")) as UIDataPart[]; // as the page has posted them
  return [
    ...(said.length > 0 ? [{ type: "steering-message", id, parts: said } as const] : []),
    ...data,
    ...(metadata === undefined ? [] : [{ type: "data-steering-metadata", id, data: metadata } as const]),
  ];
}
