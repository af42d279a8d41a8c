import { lexer, type MarkedToken, type Token, type Tokens } from "marked";
import type { ComponentChild, ComponentChildren, JSX } from "preact";
import { useMemo } from "preact/hooks";
import { CodeText } from "./code.tsx";
import { Icon } from "./icon.tsx";
import { safeAddress } from "./link.ts";
import { piecesOf } from "./quoted.tsx";

/** Longer texts are shown as they are: reading their Markdown at each change would stop the page. */
const maxMarkdownChars = 60_000;
/** Deeper parts are shown as text. */
const maxDepth = 24;

/** A text in Markdown as elements, never as HTML. HTML in it is shown as text, and pictures of other places are not loaded. */
export function Markdown({ text, isGrowing }: { text: string; isGrowing?: boolean }): JSX.Element {
  const elements = useMemo(() => markdownElements(text), [text]);
  return (
    <div class={isGrowing ? "md growing" : "md"} dir="auto">
      {elements}
    </div>
  );
}

/** The elements of a text in Markdown. A text that is too long or cannot be read is shown as it is. */
export function markdownElements(text: string): ComponentChildren {
  const tokens = tokensOf(text);
  return tokens === undefined ? <pre class="plain">{words(text)}</pre> : blocks(tokens, 0);
}

function tokensOf(text: string): readonly Token[] | undefined {
  if (text.length > maxMarkdownChars) return undefined;
  try {
    return lexer(text, { gfm: true });
  } catch {
    return undefined;
  }
}

function blocks(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token, index) => <Block key={index} token={token as MarkedToken} depth={depth} />);
}

function Block({ token, depth }: { token: MarkedToken; depth: number }): JSX.Element | null {
  if (depth > maxDepth) return <p dir="auto">{words(token.raw)}</p>;
  switch (token.type) {
    case "space":
    case "def":
      return null;
    case "hr":
      return <hr />;
    case "heading":
      return <Heading token={token} depth={depth} />;
    case "paragraph":
      return <p dir="auto">{inlines(token.tokens, depth)}</p>;
    case "blockquote":
      return <blockquote>{blocks(token.tokens, depth + 1)}</blockquote>;
    case "code":
      return <CodeText text={token.text} language={token.lang} />;
    case "list":
      return <ItemList token={token} depth={depth} />;
    case "table":
      return <TextTable token={token} depth={depth} />;
    case "text":
      return <>{token.tokens ? inlines(token.tokens, depth) : words(token.text)}</>;
    case "html":
      return <p dir="auto">{words(token.text)}</p>;
    default:
      return <p dir="auto">{inlines([token], depth)}</p>;
  }
}

/** Headings of a text stand below those of the page. */
function Heading({ token, depth }: { token: Tokens.Heading; depth: number }): JSX.Element {
  const inside = inlines(token.tokens, depth);
  if (token.depth === 1) return <h3 dir="auto">{inside}</h3>;
  if (token.depth === 2) return <h4 dir="auto">{inside}</h4>;
  return <h5 dir="auto">{inside}</h5>;
}

function ItemList({ token, depth }: { token: Tokens.List; depth: number }): JSX.Element {
  const items = token.items.map((item, index) => (
    <li key={index} class={item.task ? "task" : undefined} dir="auto">
      {item.task && <input type="checkbox" checked={item.checked === true} disabled aria-label="Task" />}
      {item.tokens.map((part, at) =>
        part.type === "checkbox" ? null : <Block key={at} token={part as MarkedToken} depth={depth + 1} />,
      )}
    </li>
  ));
  if (!token.ordered) return <ul>{items}</ul>;
  return <ol start={token.start === "" ? 1 : token.start}>{items}</ol>;
}

function TextTable({ token, depth }: { token: Tokens.Table; depth: number }): JSX.Element {
  const side = (index: number) => token.align[index] ?? undefined;
  return (
    <div class="md-table" role="region" aria-label="Table" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {token.header.map((cell, index) => (
              <th key={index} data-align={side(index)} dir="auto">
                {inlines(cell.tokens, depth)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {token.rows.map((row, at) => (
            <tr key={at}>
              {row.map((cell, index) => (
                <td key={index} data-align={side(index)} dir="auto">
                  {inlines(cell.tokens, depth)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inlines(tokens: readonly Token[], depth: number): ComponentChildren {
  return tokens.map((token, index) => <Inline key={index} token={token as MarkedToken} depth={depth} />);
}

function Inline({ token, depth }: { token: MarkedToken; depth: number }): JSX.Element {
  if (depth > maxDepth) return <>{words(token.raw)}</>;
  switch (token.type) {
    case "strong":
      return <strong>{inlines(token.tokens, depth + 1)}</strong>;
    case "em":
      return <em>{inlines(token.tokens, depth + 1)}</em>;
    case "del":
      return <del>{inlines(token.tokens, depth + 1)}</del>;
    case "codespan":
      return <code>{words(token.text)}</code>;
    case "br":
      return <br />;
    case "link":
      return <TextLink href={token.href}>{inlines(token.tokens, depth + 1)}</TextLink>;
    case "image":
      return <RemotePicture href={token.href} text={token.text} />;
    case "escape":
      return <>{words(token.text)}</>;
    case "text":
      return <>{token.tokens ? inlines(token.tokens, depth + 1) : words(token.text)}</>;
    default:
      return <>{words(token.raw)}</>;
  }
}

/** A link of a text: it opens elsewhere and tells nobody where it was, or it is inert. */
export function TextLink({ href, children }: { href: string; children: ComponentChildren }): JSX.Element {
  const address = safeAddress(href);
  if (address === undefined) {
    return (
      <span class="inert" title={`This address is not opened: ${href}`}>
        {children}
      </span>
    );
  }
  return (
    <a href={address} target="_blank" rel="noopener noreferrer" title={address}>
      {children}
    </a>
  );
}

/** A picture of another place would tell that place that it is looked at. */
function RemotePicture({ href, text }: { href: string; text: string }): JSX.Element {
  return (
    <span class="chip">
      <Icon name="image" />
      <TextLink href={href}>{words(text === "" ? "Picture" : text)}</TextLink>
      <span class="t3">not loaded</span>
    </span>
  );
}

function words(text: string): ComponentChild[] {
  return piecesOf(text).map(({ text: piece, isHidden }, index) =>
    isHidden ? (
      <span key={index} class="esc">
        {piece}
      </span>
    ) : (
      piece
    ),
  );
}
