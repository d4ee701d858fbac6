import fc from "fast-check";
import type { MessageFormat } from "heddle/core";

// Lists as they are found in the wild: well formed by their format, with everything it knows and with what it does not
// know yet; not always legal, as a list that somebody has cut is not.

const text = fc.oneof(fc.string(), fc.string({ minLength: 30, maxLength: 60 }), fc.constantFrom("", " ", '{"a": 1}'));
const id = fc.constantFrom("c1", "c2", "c3");
const name = fc.constantFrom("weather", "search");
/** What JSON holds and a payload takes: no -0. */
const json = fc.jsonValue({ maxDepth: 2 }).map((value): unknown => JSON.parse(JSON.stringify(value)));
const args = fc.dictionary(fc.stringMatching(/^[a-z:"]{1,6}$/), json, { maxKeys: 3 });
const long = fc.record(
  { forecast: fc.string({ minLength: 40, maxLength: 60 }), "heddle:is": json },
  { requiredKeys: [] },
);
const value = fc.oneof(json, args, long);
const base64 = fc.constantFrom("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAf", "aGk=", "/9j/4AAQSkZJRgABAQ");
const url = fc.constantFrom("https://example.com/a.png", "https://example.com/b?c=1#d");
const dataUrl = base64.map((bytes) => `data:image/png;base64,${bytes}`);
const metadata = fc.constantFrom({ anthropic: { signature: "sig" } }, { openai: { itemId: "rs_1" } }, {});
/** Of a type that nobody knows yet. */
const unknownPart = fc.record({ type: fc.constant("hologram"), data: value });

/** An object some of whose fields may be missing. */
function some<T extends object>(
  needed: { [K in keyof T]: fc.Arbitrary<T[K]> },
  maybe: Record<string, fc.Arbitrary<unknown>>,
) {
  const optional = fc.record(maybe, { requiredKeys: [] });
  return fc.tuple(fc.record(needed) as fc.Arbitrary<T>, optional).map(([a, b]) => ({ ...a, ...b }));
}

const is = <T extends string>(type: T): fc.Arbitrary<T> => fc.constant(type);
const many = <T>(items: fc.Arbitrary<T>): fc.Arbitrary<T[]> => fc.array(items, { maxLength: 4 });

const chatPart = fc.oneof(
  some({ type: is("text"), text }, {}),
  some(
    {
      type: is("image_url"),
      image_url: some({ url: fc.oneof(url, dataUrl) }, { detail: fc.constantFrom("low", "high") }),
    },
    {},
  ),
  some(
    { type: is("input_audio"), input_audio: fc.record({ data: base64, format: fc.constantFrom("wav", "mp3") }) },
    {},
  ),
  some({ type: is("file"), file: some({}, { file_data: dataUrl, filename: text, file_id: text }) }, {}),
  unknownPart,
);
const chatCall = fc.oneof(
  fc.record({
    id,
    type: is("function"),
    function: fc.record({
      name,
      arguments: fc.oneof(
        args.map((args) => JSON.stringify(args)),
        text,
      ),
    }),
  }),
  fc.record({ id, type: is("custom"), custom: fc.record({ name, input: text }) }),
);
const openaiChat = fc.array(
  fc.oneof(
    some({ role: fc.constantFrom("system", "developer"), content: text }, { name: text }),
    some({ role: is("user"), content: fc.oneof(text, many(chatPart)) }, { name: text }),
    some(
      { role: is("assistant") },
      {
        content: fc.oneof(text, fc.constant(null), many(fc.record({ type: is("text"), text }))),
        refusal: fc.oneof(text, fc.constant(null)),
        tool_calls: many(chatCall),
        reasoning_content: text,
        audio: fc.record({ id: text }),
      },
    ),
    some({ role: is("assistant"), function_call: fc.record({ name, arguments: text }) }, {}),
    some(
      { role: is("tool"), tool_call_id: id, content: fc.oneof(text, many(fc.record({ type: is("text"), text }))) },
      {},
    ),
    some({ role: is("function"), name, content: text }, {}),
  ),
  { maxLength: 8 },
);

const cached = { cache_control: fc.constant({ type: "ephemeral" }) };
const claudeSource = fc.oneof(
  fc.record({ type: is("base64"), media_type: fc.constantFrom("image/png", "application/pdf"), data: base64 }),
  fc.record({ type: is("url"), url }),
  fc.record({ type: is("text"), media_type: is("text/plain"), data: text }),
  fc.record({ type: is("file"), file_id: text }),
);
const claudePart = fc.oneof(
  some({ type: is("text"), text }, { ...cached, citations: fc.oneof(fc.constant(null), many(args)) }),
  some({ type: is("image"), source: claudeSource }, cached),
  some({ type: is("document"), source: claudeSource }, { ...cached, title: text }),
  unknownPart,
);
const anthropic = fc.array(
  fc.oneof(
    some({ role: is("system"), content: fc.oneof(text, many(some({ type: is("text"), text }, cached))) }, {}),
    some(
      {
        role: is("user"),
        content: fc.oneof(
          text,
          many(
            fc.oneof(
              claudePart,
              some(
                { type: is("tool_result"), tool_use_id: id },
                { content: fc.oneof(text, many(claudePart)), is_error: fc.boolean() },
              ),
            ),
          ),
        ),
      },
      {},
    ),
    some(
      {
        role: is("assistant"),
        content: fc.oneof(
          text,
          many(
            fc.oneof(
              claudePart,
              some({ type: is("thinking"), thinking: text, signature: text }, {}),
              some({ type: is("redacted_thinking"), data: text }, {}),
              some({ type: is("tool_use"), id, name, input: args }, cached),
              some({ type: is("server_tool_use"), id, name: is("web_search"), input: args }, {}),
              some({ type: is("web_search_tool_result"), tool_use_id: id, content: many(args) }, {}),
            ),
          ),
        ),
      },
      { id: text },
    ),
  ),
  { maxLength: 8 },
);

const options = { providerOptions: metadata };
const bytes = fc.uint8Array({ minLength: 1, maxLength: 40 });
const fileData = fc.oneof(
  fc.record({ type: is("data"), data: fc.oneof(base64, bytes) }),
  fc.record({ type: is("url"), url: url.map((url) => new URL(url)) }),
  fc.record({ type: is("text"), text }),
  fc.record({ type: is("reference"), reference: fc.constant({ openai: "file_1" }) }),
  fc.oneof(
    base64,
    dataUrl,
    url,
    bytes,
    url.map((url) => new URL(url)),
  ),
);
const mediaType = fc.constantFrom("image/png", "image/*", "image", "application/pdf");
const aiFile = some({ type: is("file"), mediaType, data: fileData }, { ...options, filename: text });
const aiText = some({ type: is("text"), text }, options);
const aiImage = some(
  {
    type: is("image"),
    image: fc.oneof(
      base64,
      dataUrl,
      url,
      bytes,
      url.map((url) => new URL(url)),
    ),
  },
  { ...options, mediaType },
);
const output = fc.oneof(
  some({ type: fc.constantFrom("text", "error-text"), value: text }, options),
  some({ type: fc.constantFrom("json", "error-json"), value }, options),
  some({ type: is("execution-denied") }, { reason: text }),
  some({ type: is("content"), value: many(fc.oneof(aiText, aiFile, unknownPart)) }, {}),
);
const aiResult = some({ type: is("tool-result"), toolCallId: id, toolName: name, output }, options);
const modelMessages = fc.array(
  fc.oneof(
    some({ role: is("system"), content: text }, options),
    some({ role: is("user"), content: fc.oneof(text, many(fc.oneof(aiText, aiFile, aiImage, unknownPart))) }, options),
    some(
      {
        role: is("assistant"),
        content: fc.oneof(
          text,
          many(
            fc.oneof(
              aiText,
              aiFile,
              some({ type: is("reasoning"), text }, options),
              some({ type: is("reasoning-file"), mediaType, data: fileData }, options),
              some({ type: is("custom"), kind: is("openai.thing") }, options),
              some(
                { type: is("tool-call"), toolCallId: id, toolName: name, input: value },
                { ...options, providerExecuted: fc.boolean() },
              ),
              aiResult,
              some({ type: is("tool-approval-request"), approvalId: text, toolCallId: id }, {}),
            ),
          ),
        ),
      },
      options,
    ),
    some(
      {
        role: is("tool"),
        content: many(
          fc.oneof(
            aiResult,
            some({ type: is("tool-approval-response"), approvalId: text, approved: fc.boolean() }, {}),
          ),
        ),
      },
      options,
    ),
  ),
  { maxLength: 8 },
);

const uiMetadata = { providerMetadata: metadata };
const uiText = some({ type: is("text"), text }, { ...uiMetadata, state: fc.constantFrom("streaming", "done") });
const uiFile = some({ type: is("file"), mediaType, url: fc.oneof(url, dataUrl) }, { ...uiMetadata, filename: text });
const approval = { approval: some({ id: text, approved: fc.boolean() }, { reason: text }) };
const uiTool = fc
  .tuple(
    fc.oneof(fc.record({ type: is("tool-weather") }), fc.record({ type: is("dynamic-tool"), toolName: name })),
    fc.oneof(
      some({ state: is("input-streaming") }, { input: value, rawInput: text }),
      some({ state: fc.constantFrom("input-available", "approval-requested", "output-denied"), input: value }, {}),
      some({ state: is("approval-responded"), input: value }, approval),
      some({ state: is("output-available"), input: value, output: value }, { preliminary: fc.boolean() }),
      some({ state: is("output-error"), errorText: text }, { input: value, rawInput: value }),
    ),
    fc.record({ toolCallId: id }),
    some(
      {},
      { callProviderMetadata: metadata, resultProviderMetadata: metadata, title: text, providerExecuted: fc.boolean() },
    ),
  )
  .map((parts): object => Object.assign({}, ...parts));
const uiPart = fc.oneof(
  uiText,
  uiFile,
  uiTool,
  some({ type: is("reasoning"), text }, uiMetadata),
  some({ type: is("reasoning-file"), mediaType, url: dataUrl }, uiMetadata),
  some({ type: is("source-url"), sourceId: text, url }, { ...uiMetadata, title: text }),
  some({ type: is("source-document"), sourceId: text, mediaType, title: text }, uiMetadata),
  some({ type: is("custom"), kind: is("openai.thing") }, uiMetadata),
  some({ type: is("data-chart"), data: value }, { id: text }),
  some({ type: is("steering-message"), id: text, parts: many(fc.oneof(uiText, uiFile)) }, {}),
  some({ type: is("step-start") }, {}),
  unknownPart,
);
const uiMessages = fc.array(
  fc.oneof(
    some({ id: text, role: is("system"), parts: many(uiText) }, { metadata: value }),
    some({ id: text, role: is("user"), parts: many(fc.oneof(uiText, uiFile, unknownPart)) }, { metadata: value }),
    some({ id: text, role: is("assistant"), parts: fc.array(uiPart, { maxLength: 10 }) }, { metadata: value }),
  ),
  { maxLength: 5 },
);

const neutralPart = fc.oneof(
  some({ type: is("text"), text }, { metadata }),
  some({ type: is("thinking"), text }, { metadata, provider: text }),
  some(
    {
      type: is("file"),
      mediaType,
      data: fc.oneof(fc.record({ url }), fc.record({ base64 }), fc.record({ blob: text })),
    },
    { metadata },
  ),
  some({ type: is("source"), url }, { metadata }),
  some({ type: is("custom"), kind: is("openai.thing") }, { metadata }),
  some({ type: is("provider_call"), id, name, arguments: value }, { metadata }),
  some({ type: is("provider_result"), id, name, result: value }, { metadata, isError: fc.boolean() }),
  some({ type: is("tool_call"), id }, {}),
  unknownPart,
);
const neutralContent = fc.oneof(text, many(neutralPart));
const neutral = fc.array(
  fc.oneof(
    some({ role: is("system"), content: text }, {}),
    some({ role: is("user"), content: neutralContent }, { name: text }),
    some(
      { role: is("assistant"), content: neutralContent },
      { toolCalls: many(some({ id, name, arguments: value }, { metadata })), mood: value },
    ),
    some({ role: is("tool"), toolCallId: id, name, content: neutralContent }, { isError: fc.boolean(), metadata }),
  ),
  { maxLength: 8 },
);

export const LISTS: { readonly [format in MessageFormat]: fc.Arbitrary<readonly object[]> } = {
  neutral,
  "openai-chat": openaiChat,
  anthropic,
  "model-messages": modelMessages,
  "ui-messages": uiMessages,
};
