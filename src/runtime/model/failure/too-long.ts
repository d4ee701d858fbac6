/** How each provider says that the messages do not fit into the model's window. */
export const TOO_LONG: readonly { readonly who: string; readonly says: RegExp }[] = [
  { who: "Anthropic; also on Bedrock and Vertex", says: /prompt is too long/i },
  { who: "Anthropic, with maxOutputTokens", says: /input length and `?max_tokens`? exceed context limit/i },
  {
    who: "Anthropic, too many bytes",
    says: /request_too_large|request exceeds the maximum (allowed )?(size|number of bytes)/i,
  },
  { who: "OpenAI and Azure by code, Groq", says: /context_length_exceeded|context_window_exceeded/i },
  { who: "OpenAI Chat, Azure, DeepSeek, vLLM, OpenRouter", says: /maximum context length (is|of) [\d,]+/i },
  { who: "OpenAI Responses, Azure", says: /exceeds? the (model's )?context window/i },
  { who: "OpenAI and Groq, more than a minute's tokens at once", says: /request too large for .*(requested|reduce)/is },
  { who: "Gemini, Vertex", says: /input token count .*exceeds the maximum number of tokens/is },
  { who: "Mistral", says: /too large for model with [\d,]+ maximum context length/i },
  { who: "Bedrock", says: /input is too long for requested model|too many input tokens/i },
  { who: "Groq, Cerebras", says: /reduce the length of the messages/i },
  { who: "xAI", says: /maximum prompt length is [\d,]+/i },
  {
    who: "vLLM, SGLang",
    says: /longer than the (maximum model length|model's context length)|context length is only [\d,]+/i,
  },
  { who: "llama.cpp", says: /exceeds? the available context size|exceed_context_size_error/i },
  { who: "llama-cpp-python", says: /requested tokens \([\d,]+\) exceed context window/i },
  { who: "Ollama", says: /prompt too long; exceeded|input (length )?exceeds (the |maximum )?context length/i },
  { who: "LM Studio", says: /greater than the context length|context the overflows/i },
  { who: "Cohere", says: /too many tokens: (the )?total number of tokens/i },
  { who: "Moonshot", says: /exceeded model token limit/i },
  { who: "MiniMax", says: /context window exceeds limit/i },
];

export function saysTooLong(text: string): boolean {
  return TOO_LONG.some(({ says }) => says.test(text));
}

/** What a refusal says of the prompt: its length, and the longest that the model takes. */
export interface PromptLimits {
  readonly promptTokens?: number;
  readonly maxPromptTokens?: number;
}

/** The numbers in each provider's words; an answer that counts too is taken off both. */
const NUMBERS: readonly RegExp[] = [
  /prompt is too long: (?<prompt>[\d,]+) tokens > (?<max>[\d,]+)/i,
  /exceed context limit: (?<prompt>[\d,]+) \+ (?<answer>[\d,]+) > (?<max>[\d,]+)/i,
  /maximum context length (?:is|of) (?<max>[\d,]+) tokens\. However, you requested (?:about )?(?<total>[\d,]+) tokens \(.*?(?<answer>[\d,]+) in the (?:completion|output)\)/is,
  /maximum context length (?:is|of) (?<max>[\d,]+) tokens\.(?:[^"]*?(?:resulted in|requested) (?<prompt>[\d,]+) tokens)?/is,
  /Limit (?<max>[\d,]+), Requested (?<prompt>[\d,]+)/i,
  /input token count \(?(?<prompt>[\d,]+)\)? exceeds the maximum number of tokens allowed \(?(?<max>[\d,]+)/i,
  /contains (?<prompt>[\d,]+) tokens .*too large for model with (?<max>[\d,]+) maximum/i,
  /maximum prompt length is (?<max>[\d,]+)(?: but the request contains (?<prompt>[\d,]+))?/i,
  /\(length (?<prompt>[\d,]+)\) is longer than the maximum model length of (?<max>[\d,]+)/i,
  /\((?<prompt>[\d,]+) tokens\) (?:is longer than the model's context length|exceeds? the available context size) \((?<max>[\d,]+)/i,
  /"n_prompt_tokens":(?<prompt>\d+),"n_ctx":(?<max>\d+)/,
  /requested tokens \((?<prompt>[\d,]+)\) exceed context window of (?<max>[\d,]+)/i,
  /first (?<prompt>[\d,]+) tokens when context the overflows.*context length of only (?<max>[\d,]+)/is,
  /prompt cannot exceed (?<max>[\d,]+) - received (?<prompt>[\d,]+)/i,
  /current length is (?<prompt>[\d,]+) while limit is (?<max>[\d,]+)/i,
  /exceeded model token limit: (?<max>[\d,]+)(?: \(requested: (?<prompt>[\d,]+)\))?/i,
];

/** The numbers of a refusal, where it has any that make sense. */
export function promptLimitsIn(text: string): PromptLimits {
  const found = NUMBERS.map((pattern) => pattern.exec(text)?.groups).find((groups) => groups !== undefined);
  if (found === undefined) return {};
  const [max, answer, total, prompt] = [found["max"], found["answer"], found["total"], found["prompt"]].map(numberOf);
  const maxPromptTokens = (max ?? 0) - (answer ?? 0);
  const promptTokens = prompt ?? (total === undefined ? undefined : total - (answer ?? 0));
  if (maxPromptTokens < 1) return {};
  return promptTokens !== undefined && promptTokens > maxPromptTokens
    ? { promptTokens, maxPromptTokens }
    : { maxPromptTokens };
}

function numberOf(digits: string | undefined): number | undefined {
  return digits === undefined ? undefined : Number(digits.replaceAll(",", ""));
}
