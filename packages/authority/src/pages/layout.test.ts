import { expect, test } from "vitest";
import { html } from "./layout.ts";

test("escapes strings and keeps HTML fragments", () => {
  const inner = html`<b>${"<i>"}</b>`;
  expect(html`<p title="${`"'&`}">${inner}${[inner]}${undefined}${false}</p>`.html).toBe(
    '<p title="&quot;&#39;&amp;"><b>&lt;i&gt;</b><b>&lt;i&gt;</b></p>',
  );
});

test("replaces characters that hide or reverse text", () => {
  expect(html`${"a\u202Eb\u200Bc\u0000d"}`.html).toBe("a b c d");
});
