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
