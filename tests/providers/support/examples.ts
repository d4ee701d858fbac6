import type { Message } from "heddle";
import {
  assistant,
  call,
  failed,
  hinted,
  pixel,
  redacted,
  result,
  sealed,
  signed,
  system,
  thought,
  user,
  webImage,
} from "./messages.ts";

const ask = user("What's the weather?");

const sealedLast = { openai: { itemId: "rs_2", reasoningEncryptedContent: "enc2" } };

/** One list for each shape that providers spell in their own way. */
export const EXAMPLES: { readonly [name: string]: readonly Message[] } = {
  text: [ask, assistant("Where?"), user("Bern")],
  system: [system("Be brief."), system("Speak French."), ask],
  "two asks in a row": [ask, user("In Bern.")],
  "one call": [ask, assistant("", call("c1")), result("c1")],
  "parallel calls and a steer": [
    ask,
    assistant("Looking.", call("c1"), call("c2", { city: "Basel" }, "search")),
    result("c1"),
    result("c2", '{"items":[1]}', "search"),
    user("Hurry."),
  ],
  "two steps": [ask, assistant("", call("c1")), result("c1"), assistant("", call("c2")), result("c2", "")],
  "an error told as text": [ask, assistant("", call("c1")), failed("c1")],
  "an error told as JSON": [
    ask,
    assistant("", call("c1")),
    failed("c1", '{"error":{"type":"timeout","message":"too slow"}}'),
  ],
  "arguments that are no JSON": [ask, assistant("", call("c1", '{"city":')), failed("c1", "no JSON")],
  "arguments as text": [ask, assistant("", call("c1", '{"city":"Bern"}')), result("c1")],
  "images by bytes and by URL": [user([{ type: "text", text: "Compare." }, pixel, webImage])],
  "a PDF": [user([{ type: "file", mediaType: "application/pdf", filename: "a.pdf", data: { base64: "JVBERi0=" } }])],
  "a PDF without a name, behind text": [
    user([
      { type: "text", text: "Read." },
      { type: "file", mediaType: "application/pdf", data: { base64: "JVBERi0=" } },
    ]),
  ],
  "a text file": [user([{ type: "file", mediaType: "text/plain", data: { base64: "SGkgw7wh" } }])],
  "an image from a tool": [ask, assistant("", call("c1")), result("c1", [{ type: "text", text: "Here." }, pixel])],
  "text after a call": [
    ask,
    assistant(
      [
        { type: "text", text: "First." },
        { type: "tool_call", id: "c1" },
        { type: "text", text: "Then." },
        { type: "tool_call", id: "c2" },
      ],
      call("c1"),
      call("c2"),
    ),
    result("c1"),
    result("c2"),
  ],
  "thinking of every provider before a call": [
    ask,
    assistant(
      [
        thought("Claude thinks", signed),
        thought("", redacted),
        thought("GPT thinks", sealed),
        thought("and thinks", sealed),
        thought("Gemini thinks", hinted),
        thought("who knows", {}),
        { type: "text", text: "Looking." },
      ],
      { ...call("c1"), metadata: hinted },
      call("c2"),
    ),
    result("c1"),
    result("c2"),
  ],
  "reasoning whose content came with its last part": [
    ask,
    assistant([thought("One", { openai: { itemId: "rs_2" } }), thought("Two", sealedLast)], call("c1")),
    result("c1"),
  ],
  "reasoning whose content came anew with each part": [
    ask,
    assistant(
      [thought("One", sealed), thought("Two", { openai: { ...sealed.openai, reasoningEncryptedContent: "new" } })],
      call("c1"),
    ),
    result("c1"),
  ],
  "empty text that another provider marked": [
    ask,
    assistant([{ type: "text", text: "", metadata: { anthropic: { citations: [] } } }], call("c1")),
    result("c1"),
  ],
  "metadata at the place of a call": [
    ask,
    assistant([{ type: "tool_call", id: "c1", metadata: hinted }], call("c1")),
    result("c1"),
  ],
  "signed text": [ask, assistant([{ type: "text", text: "Sunny.", metadata: hinted }]), user("Sure?")],
};
