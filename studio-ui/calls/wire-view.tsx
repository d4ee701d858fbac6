import { useSignal } from "@preact/signals";
import { toAISDKPrompt, toAnthropic, toGemini, toOpenAIChat, toOpenAIResponses } from "heddle/providers";
import type { CallDetail } from "../data/contract.ts";
import { problemOf } from "../data/source.ts";
import { JsonView } from "../parts/json-view.tsx";
import { Problem } from "../parts/states.tsx";

const FORMATS = {
  "ai-sdk": { title: "AI SDK prompt", make: ({ messages }: CallDetail): object => toAISDKPrompt(messages) },
  anthropic: {
    title: "Anthropic",
    make: ({ messages, toolSpec }: CallDetail): object => toAnthropic(messages, toolSpec),
  },
  "openai-chat": {
    title: "OpenAI Chat",
    make: ({ messages, toolSpec }: CallDetail): object => toOpenAIChat(messages, toolSpec),
  },
  "openai-responses": {
    title: "OpenAI Responses",
    make: ({ messages, toolSpec }: CallDetail): object => toOpenAIResponses(messages, toolSpec),
  },
  gemini: { title: "Gemini", make: ({ messages, toolSpec }: CallDetail): object => toGemini(messages, toolSpec) },
} as const;
type Format = keyof typeof FORMATS;
const NAMES = Object.keys(FORMATS) as Format[]; // `FORMATS` has exactly these keys

/** Shows the context in the request format of a provider. Agents use the same formatters. */
export function WireView({ detail }: { readonly detail: CallDetail }) {
  const format = useSignal<Format>("ai-sdk");
  return (
    <div class="wire">
      <div class="chips" role="group" aria-label="Wire format">
        {NAMES.map((name) => (
          <button
            key={name}
            type="button"
            class="chip"
            aria-pressed={format.value === name}
            onClick={() => (format.value = name)}
          >
            {FORMATS[name].title}
          </button>
        ))}
      </div>
      <Body detail={detail} format={format.value} />
    </div>
  );
}

function Body({ detail, format }: { readonly detail: CallDetail; readonly format: Format }) {
  const { title, make } = FORMATS[format];
  try {
    return <JsonView value={make(detail)} label={`The call as ${title}`} />;
  } catch (error) {
    return <Problem {...problemOf(error)} />;
  }
}
