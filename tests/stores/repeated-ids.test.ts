import { expect, test } from "vitest";
import { leaveOutIds, putBackIds } from "../../src/stores/stored-payload.ts";

const refs = '{"requestId":"req_1","runId":"run_1","callId":"c"}';

test("ids that end the payload and begin the refs are left out of the payload, and put back", () => {
  const payload = '{"text":"hello","requestId":"req_1","runId":"run_1"}';
  const stored = { refs: ` ${refs}`, payload: '{"text":"hello"}' };
  expect(leaveOutIds({ refs, payload })).toEqual(stored);
  expect(putBackIds(stored)).toEqual({ refs, payload });
});

test("refs whose payload was erased lose only the space", () => {
  expect(putBackIds({ refs: ` ${refs}`, payload: null })).toEqual({ refs, payload: null });
});

test.each([
  ["other ids", { refs, payload: '{"text":"hello","requestId":"req_2","runId":"run_1"}' }],
  ["ids that are not at the end", { refs, payload: '{"requestId":"req_1","runId":"run_1","text":"hello"}' }],
  ["ids inside another value", { refs, payload: '{"a":{"b":1,"requestId":"req_1","runId":"run_1"}}' }],
  ["nothing but ids", { refs, payload: '{"requestId":"req_1","runId":"run_1"}' }],
  ["a payload with blobs", { refs, payload: '[{"text":"","requestId":"req_1","runId":"run_1"},{"/text":"hash"},9]' }],
  ["other refs first", { refs: '{"a":1,"requestId":"r","runId":"s"}', payload: '{"b":1,"requestId":"r","runId":"s"}' }],
  ["an id with a quote", { refs: '{"requestId":"\\"","runId":"s"}', payload: '{"b":1,"requestId":"\\"","runId":"s"}' }],
  ["no refs", { refs: "{}", payload: '{"text":"hello"}' }],
  ["no payload", { refs, payload: null }],
])("%s: the texts are stored as they are", (_, texts) => {
  expect(leaveOutIds(texts)).toEqual(texts);
  expect(putBackIds(texts)).toEqual(texts);
});
