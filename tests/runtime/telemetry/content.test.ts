import { describe, expect, test } from "vitest";
import type { Message, Part } from "../../../src/thread/message.ts";
import { type Recorder, recorder } from "./support/recorder.ts";
import { answer, asked, completed, event, llmStream, outcome, scene, toolExec } from "./support/scene.ts";

const call = { id: "tool_1", name: "weather", arguments: { city: "Ghent" } };

/** Everything that can be said, with a word in it that must not get out. */
function sayAll({ telemetry }: Recorder, at: ReturnType<typeof scene>): void {
  const request = telemetry.request({ ...asked, input: () => "A secret." }, at);
  const secret = { code: "tool_failed", message: "No secret in Ghent." };
  const messages: readonly Message[] = [
    { role: "system", content: "A secret prompt." },
    { role: "user", content: [{ type: "text", text: "A secret." }] },
  ];
  const directive = llmStream({ messages });
  const calling = telemetry.model(directive, at);
  calling.sending({ messages, settings: {} });
  calling.answered({ ...answer, content: "A secret.", toolCalls: [{ ...call, arguments: "secret" }] });
  telemetry.model(directive, at).failed(secret);
  const execution = { ...toolExec(), call: { ...call, arguments: { word: "secret" } } };
  telemetry.tool(execution, at).ended(outcome({ content: "A secret." }));
  telemetry.tool(execution, at).ended(outcome({ content: "A secret.", isError: true, failure: secret }));
  const range = { fromSeq: 0, toSeq: 1, messages, previous: { fromSeq: 0, toSeq: 0, content: "A secret." } };
  const summary = telemetry.summary({ range }, at);
  summary.answered({ ...answer, content: "A secret." });
  summary.failed(new Error("secret"));
  request.event(event({ kind: "llm_delta", callId: "call_1", data: { type: "text", id: "1", text: "secret" } }));
  request.event(event({ kind: "request_failed", data: { failure: secret } }));
}

function told(record: Recorder): string {
  return JSON.stringify(
    record.spans().map(({ name, attributes, status, events }) => [name, attributes, status, events]),
  );
}

describe("content", () => {
  test("is in no telemetry of an agent, unless its redact is false", async () => {
    const record = await recorder();
    sayAll(record, scene());
    expect(told(record)).not.toContain("secret");
    expect(JSON.stringify(await record.measured())).not.toContain("secret");
    expect(record.spans().length).toBe(7);
  });

  test("is in nothing at all with recordContent: false", async () => {
    const record = await recorder({ recordContent: false });
    sayAll(record, scene({ redact: false }));
    expect(told(record)).not.toContain("secret");
  });

  test("is in the telemetry of an agent with redact: false, but never measured", async () => {
    const record = await recorder();
    sayAll(record, scene({ redact: false }));
    expect(told(record)).toContain("A secret prompt.");
    expect(told(record)).toContain("No secret in Ghent.");
    expect(JSON.stringify(await record.measured())).not.toContain("secret");
  });

  test("of a tool is its arguments and its result, an error's in the words of the failure", async () => {
    const record = await recorder();
    record.telemetry.tool(toolExec(), scene({ redact: false })).ended(outcome());
    expect(record.span("execute_tool weather").attributes).toMatchObject({
      "gen_ai.tool.call.arguments": '{"city":"Ghent"}',
      "gen_ai.tool.call.result": "18 degrees",
    });
    const other = await recorder();
    const failure = { code: "tool_failed", message: "No city of that name." };
    const broken = outcome({ content: "Ghent is gone.", isError: true, failure });
    other.telemetry.tool(toolExec(), scene({ redact: false })).ended(broken);
    expect(other.span("execute_tool weather").status.message).toBe("No city of that name.");
    expect(told(other)).not.toContain("Ghent is gone.");
  });

  test("of a request is its ask and its last answer, if its agent has redact: false", async () => {
    const input = () => [{ type: "text", text: "How warm is it?" }] as const;
    const record = await recorder();
    record.telemetry.request({ ...asked, input }, scene({ redact: false })).event(completed);
    const { attributes } = record.span("invoke_agent support");
    expect(JSON.parse(String(attributes["gen_ai.input.messages"]))).toEqual([
      { role: "user", parts: [{ type: "text", content: "How warm is it?" }] },
    ]);
    expect(JSON.parse(String(attributes["gen_ai.output.messages"]))).toEqual([
      { role: "assistant", parts: [{ type: "text", content: "It is 18 degrees in Ghent." }], finish_reason: "stop" },
    ]);
    const redacted = await recorder();
    const read = () => expect.unreachable("the content was read");
    redacted.telemetry.request({ ...asked, input: read }, scene()).event(completed);
    expect(told(redacted)).not.toContain("18 degrees");
  });

  test("has the form of the conventions: every message, every part, calls at their place", async () => {
    const parts: readonly Part[] = [
      { type: "thinking", text: "Hm.", metadata: { openai: { signature: "s" } } },
      { type: "tool_call", id: "tool_1" },
      { type: "text", text: "" },
    ];
    const files: readonly Part[] = [
      { type: "file", mediaType: "image/png", data: { url: "https://example.com/a.png" } },
      { type: "file", mediaType: "application/pdf", data: { base64: "QUJD" } },
      { type: "file", mediaType: "audio/wav", data: { blob: "hash" } },
      { type: "file", mediaType: "video/mp4", data: { url: "data:video/mp4;base64,QUJD" } },
    ];
    const messages: readonly Message[] = [
      { role: "system", content: "Be brief." },
      { role: "user", content: files },
      { role: "assistant", content: parts, toolCalls: [call, { ...call, id: "tool_2" }] },
      { role: "tool", toolCallId: "tool_1", name: "weather", content: "18" },
      { role: "tool", toolCallId: "tool_2", name: "weather", content: [{ type: "text", text: "19" }] },
    ];
    const record = await recorder();
    const span = record.telemetry.model(llmStream(), scene({ redact: false }));
    span.sending({ messages, settings: {} });
    const server: readonly Part[] = [
      { type: "provider_call", id: "s1", name: "web_search", arguments: { q: "Ghent" } },
      { type: "provider_result", id: "s1", name: "web_search", result: ["found"] },
      { type: "source", url: "https://example.com", metadata: { openai: { id: "x" } } },
    ];
    span.answered({ ...answer, content: server });
    const { attributes } = record.span("chat gpt-5");
    expect(JSON.parse(String(attributes["gen_ai.input.messages"]))).toEqual([
      { role: "system", parts: [{ type: "text", content: "Be brief." }] },
      {
        role: "user",
        parts: [
          { type: "uri", mime_type: "image/png", modality: "image", uri: "https://example.com/a.png" },
          { type: "inline_file", mime_type: "application/pdf", modality: "document", characters: 4 },
          { type: "file", mime_type: "audio/wav", modality: "audio", file_id: "hash" },
          { type: "inline_file", mime_type: "video/mp4", modality: "video", characters: 26 },
        ],
      },
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "Hm." },
          { type: "tool_call", ...call },
          { type: "tool_call", ...call, id: "tool_2" },
        ],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "tool_1", response: "18" }] },
      {
        role: "tool",
        parts: [{ type: "tool_call_response", id: "tool_2", response: [{ type: "text", content: "19" }] }],
      },
    ]);
    expect(JSON.parse(String(attributes["gen_ai.output.messages"]))).toEqual([
      {
        role: "assistant",
        finish_reason: "stop",
        parts: [
          {
            type: "server_tool_call",
            id: "s1",
            name: "web_search",
            server_tool_call: { type: "web_search", arguments: { q: "Ghent" } },
          },
          {
            type: "server_tool_call_response",
            id: "s1",
            server_tool_call_response: { type: "web_search", result: ["found"] },
          },
          { type: "source", url: "https://example.com" },
        ],
      },
    ]);
  });
});
