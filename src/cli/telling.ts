import type { AgentEvent } from "../agent/event.ts";
import { escapeHidden } from "../thread/hidden-characters.ts";
import { BrokenPipe } from "./exit.ts";
import type { Output } from "./output.ts";
import { contentText, line } from "./text.ts";

/** Prints the events of a request: the answer on stdout as it arrives, tool calls and warnings on stderr. */
export class Telling {
  readonly #out: Output;
  #isMidLine = false;
  #isDeaf = false;

  constructor(out: Output) {
    this.#out = out;
  }

  async event(event: AgentEvent): Promise<void> {
    if (event.kind === "checkpoint") return; // a resume token, of no use to a reader
    if (this.#out.isJson) await this.data(() => this.#out.json(event));
    else await this.#told(event);
  }

  /** Writes data. If the reader closes the pipe, writing stops and the request continues. */
  async data(write: () => Promise<void>): Promise<void> {
    if (this.#isDeaf) return;
    try {
      await write();
    } catch (error) {
      if (!(error instanceof BrokenPipe)) throw error;
      this.#isDeaf = true;
    }
  }

  async line(text: string): Promise<void> {
    await this.#endLine();
    await this.#out.say(text);
  }

  async end(): Promise<void> {
    await this.#endLine();
  }

  async #told(event: AgentEvent): Promise<void> {
    const { talk } = this.#out;
    switch (event.kind) {
      case "llm_delta":
        if (event.data.type === "text" && event.data.text !== "") {
          await this.data(() => this.#out.raw(event.data.text));
          this.#isMidLine = !event.data.text.endsWith("\n");
        }
        return;
      case "llm_started":
        return this.#endLine();
      case "llm_retried":
        return this.line(`${talk("yellow", "retry:")} ${event.data.failure.message}`);
      case "tool_started":
        return this.line(
          talk("dim", `→ ${event.toolName} ${line(escapeHidden(JSON.stringify(event.data.arguments)), 160)}`),
        );
      case "tool_completed": {
        const text = line(contentText(event.data.content), 160);
        return this.line(event.data.isError ? `${talk("red", "← failed:")} ${text}` : talk("dim", `← ${text}`));
      }
      case "summary_completed":
        return this.line(
          talk("dim", `A summary now replaces the entries ${event.data.fromSeq} to ${event.data.toSeq}.`),
        );
      case "summary_failed":
        return this.line(`${talk("yellow", "warning:")} the summary failed: ${event.data.reason}`);
      case "summary_skipped":
        return this.line(
          `${talk("yellow", "warning:")} the entries ${event.data.fromSeq} to ${event.data.toSeq} could not be summarized`,
        );
      case "context_cut":
        return this.line(
          `${talk("yellow", "warning:")} the entries ${event.data.fromSeq} to ${event.data.toSeq} are cut, and no summary covers them`,
        );
      case "request_completed":
        if (event.data.terminationReason !== "final_answer")
          await this.line(`${talk("yellow", "warning:")} ended early: ${event.data.terminationReason}`);
        return;
      default:
        return;
    }
  }

  async #endLine(): Promise<void> {
    if (this.#isMidLine) await this.data(() => this.#out.raw("\n"));
    this.#isMidLine = false;
  }
}
