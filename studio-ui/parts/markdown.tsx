import type { ComponentChildren } from "preact";

const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/g;

/** The little Markdown that models write, as elements: nothing of it is ever taken as HTML. */
export function Markdown({ text }: { readonly text: string }) {
  const blocks = text.split(/(```[^\n]*\n[\s\S]*?(?:```|$))/);
  return (
    <div class="markdown">{blocks.map((block, index) => (index % 2 === 1 ? fence(block) : paragraphs(block)))}</div>
  );
}

function fence(block: string): ComponentChildren {
  const code = block.replace(/^```[^\n]*\n/, "").replace(/\n?```$/, "");
  return (
    <pre class="code" tabIndex={0} role="region" aria-label="Code">
      {code}
    </pre>
  );
}

function paragraphs(text: string): ComponentChildren[] {
  return text
    .split(/\n{2,}/)
    .filter((block) => block.trim() !== "")
    .map((block) => {
      const lines = block.split("\n").filter((line) => line.trim() !== "");
      if (lines.every((line) => /^\s*[-*•] /.test(line))) return <ul>{items(lines, /^\s*[-*•] /)}</ul>;
      if (lines.every((line) => /^\s*\d+[.)] /.test(line))) return <ol>{items(lines, /^\s*\d+[.)] /)}</ol>;
      const heading = lines.length === 1 ? /^#{1,6} (.*)$/.exec(lines[0] ?? "") : null;
      return <p>{heading === null ? inline(block.trim()) : <strong>{inline(heading[1] ?? "")}</strong>}</p>;
    });
}

function items(lines: readonly string[], mark: RegExp): ComponentChildren[] {
  return lines.map((line) => <li>{inline(line.replace(mark, ""))}</li>);
}

function inline(text: string): ComponentChildren[] {
  const out: ComponentChildren[] = [];
  let end = 0;
  for (const { 0: all, 1: code, 2: bold, 3: soft, 4: label, 5: href, index } of text.matchAll(INLINE)) {
    if (index > end) out.push(text.slice(end, index));
    if (code !== undefined) out.push(<code>{code}</code>);
    else if (bold !== undefined) out.push(<strong>{bold}</strong>);
    else if (soft !== undefined) out.push(<em>{soft}</em>);
    else {
      out.push(
        <a href={href ?? ""} target="_blank" rel="noreferrer">
          {label}
        </a>,
      );
    }
    end = index + all.length;
  }
  out.push(text.slice(end));
  return out;
}
