import { isValidElement, type VNode } from "preact";
import { expect, test } from "vitest";
import { partsOfCode } from "./code.tsx";
import { safeAddress } from "./link.ts";
import { markdownElements } from "./markdown.tsx";
import { piecesOf } from "./quoted.tsx";

/** The elements of a tree as text: components without state are called, others are named. */
function written(node: unknown): string {
  if (Array.isArray(node)) return node.map(written).join("");
  if (typeof node === "string" || typeof node === "number") return String(node);
  if (!isValidElement(node)) return "";
  const { type, props } = node as VNode<{ children?: unknown; href?: string }>;
  if (typeof type === "function") {
    if (type.name === "CodeText") return `<code>${(props as { text?: string }).text}</code>`;
    return written((type as (given: unknown) => unknown)(props));
  }
  const href = props.href === undefined ? "" : ` href=${props.href}`;
  return `<${type}${href}>${written(props.children)}</${type}>`;
}

const shown = (text: string) => written(markdownElements(text));

test("Markdown becomes elements", () => {
  expect(shown("**a** and `b`")).toBe("<p><strong>a</strong> and <code>b</code></p>");
  expect(shown("- one\n- two")).toBe("<ul><li>one</li><li>two</li></ul>");
  expect(shown("```js\n1\n```")).toBe("<code>1</code>");
  expect(shown("|a|\n|-|\n|b|")).toContain("<td>b</td>");
});

test("HTML in Markdown is text", () => {
  expect(shown("<img src=x onerror=alert(1)>")).toBe("<p><img src=x onerror=alert(1)></p>");
  expect(shown("a <b>c</b>")).toBe("<p>a <b>c</b></p>");
  expect(JSON.stringify(markdownElements("<img src=x>"))).not.toContain('"type":"img"');
});

test("links lead to the web, and all others are inert", () => {
  expect(shown("[a](https://example.com/)")).toContain("href=https://example.com/");
  for (const address of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "vbscript:x", "//host"]) {
    expect(safeAddress(address), address).toBeUndefined();
    expect(shown(`[a](${address})`)).not.toContain("href");
  }
  expect(safeAddress("JAVASCRIPT:alert(1)")).toBeUndefined();
  expect(safeAddress("java\nscript:alert(1)")).toBeUndefined();
});

test("pictures of other places are named and not loaded", () => {
  const picture = shown("![a map](https://example.com/map.png)");
  expect(picture).not.toContain("<img");
  expect(picture).toContain("not loaded");
});

test("deep Markdown ends in text", () => {
  expect(shown(`${"> ".repeat(200)}deep`)).toContain("deep");
});

test("characters that cannot be seen are named", () => {
  expect(piecesOf("a\u200bb")).toEqual([
    { text: "a", isHidden: false },
    { text: "U+200B", isHidden: true },
    { text: "b", isHidden: false },
  ]);
  expect(piecesOf("\\u{200b}")).toEqual([
    { text: "\\", isHidden: false },
    { text: "u{200b}", isHidden: false },
  ]);
});

test("code is divided without losing a character", () => {
  const code = 'const a = "b"; // 1\n/* c */ 0x1F';
  const parts = partsOfCode(code);
  expect(parts.map(({ text }) => text).join("")).toBe(code);
  expect(parts.filter(({ kind }) => kind === "js").map(({ text }) => text)).toEqual(['"b"']);
});
