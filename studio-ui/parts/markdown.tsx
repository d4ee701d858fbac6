import type { ComponentChildren } from "preact";

const INLINE = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\[([^\]\n]+)\]\((https?:\/\/[^\s)]+)\)/g;
const FENCE = /^\s*```/;
const HEADING = /^#{1,6}\s+(.*)$/;
const RULE = /^\s*(?:-{3,}|\*{3,}|_{3,})\s*$/;
const BULLET = /^(\s*)[-*+•]\s+/;
const NUMBER = /^(\s*)(\d+)[.)]\s+/;
const QUOTE = /^\s*>\s?/;
const TABLE_LINE = /^\s*\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?\s*$/;

/** Renders common Markdown as elements. HTML in the text is shown as text, so that a model cannot inject elements. */
export function Markdown({ text }: { readonly text: string }) {
  return (
    <div class="markdown" dir="auto">
      {blocksOf(text.split("\n"))}
    </div>
  );
}

/** Parses lines as headings, lists, code and other blocks. Lines that match none become a paragraph. */
function blocksOf(lines: readonly string[]): ComponentChildren[] {
  const blocks: ComponentChildren[] = [];
  let paragraph: string[] = [];
  const flush = () => {
    if (paragraph.length > 0) blocks.push(<p>{inline(paragraph.join("\n"))}</p>);
    paragraph = [];
  };
  const push = (block: ComponentChildren) => {
    flush();
    blocks.push(block);
  };
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] ?? "";
    const run = (fits: (line: string) => boolean) => {
      const from = at;
      while (at < lines.length && fits(lines[at] ?? "")) at += 1;
      return lines.slice(from, at);
    };
    if (FENCE.test(line)) {
      at += 1;
      const code = run((each) => !FENCE.test(each));
      at += 1;
      push(
        <pre class="code" dir="ltr" tabIndex={0} role="region" aria-label="Code">
          {code.join("\n")}
        </pre>,
      );
    } else if (line.includes("|") && (lines[at + 1] ?? "").includes("-") && TABLE_LINE.test(lines[at + 1] ?? ""))
      push(table(run((each) => each.includes("|"))));
    else if (RULE.test(line)) {
      at += 1;
      push(<hr />);
    } else if (BULLET.test(line)) push(<ul>{items(run(isItem(BULLET)), BULLET)}</ul>);
    else if (NUMBER.test(line)) {
      const start = Number(NUMBER.exec(line)?.[2]);
      push(<ol start={start}>{items(run(isItem(NUMBER)), NUMBER)}</ol>);
    } else if (QUOTE.test(line)) {
      const quoted = run((each) => QUOTE.test(each)).map((each) => each.replace(QUOTE, ""));
      push(<blockquote>{blocksOf(quoted)}</blockquote>);
    } else {
      at += 1;
      const [, heading] = HEADING.exec(line) ?? [];
      if (heading !== undefined) {
        push(
          <p>
            <strong>{inline(heading)}</strong>
          </p>,
        );
      } else if (line.trim() === "") flush();
      else paragraph.push(line);
    }
  }
  flush();
  return blocks;
}

/** Matches the first line of a list item, or an indented line that continues the item. */
const isItem = (mark: RegExp) => (line: string) => mark.test(line) || /^\s{2,}\S/.test(line);

function items(lines: readonly string[], mark: RegExp): ComponentChildren[] {
  const texts: { text: string; indent: number }[] = [];
  for (const line of lines) {
    const own = BULLET.exec(line) ?? NUMBER.exec(line);
    const last = texts.at(-1);
    if (own === null && last !== undefined) last.text += `\n${line.trim()}`;
    else texts.push({ text: line.slice((own ?? mark.exec(line))?.[0].length ?? 0), indent: own?.[1]?.length ?? 0 });
  }
  return texts.map(({ text, indent }) => <li class={indent > 1 ? "nested" : undefined}>{inline(text)}</li>);
}

function table([head = "", , ...rows]: readonly string[]): ComponentChildren {
  return (
    <div class="table" tabIndex={0} role="region" aria-label="Table">
      <table>
        <thead>
          <tr>
            {cellsOf(head).map((cell) => (
              <th scope="col">{inline(cell)}</th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {cellsOf(row).map((cell) => (
                <td>{inline(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function cellsOf(line: string): string[] {
  const cells = line.trim().replace(/^\|/, "").replace(/\|$/, "");
  return cells.split(/(?<!\\)\|/).map((cell) => cell.replaceAll("\\|", "|").trim());
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
