import { expect, test } from "vitest";
import { html } from "./layout.ts";

test("what is put in is text, unless it is HTML", () => {
  const inner = html`<b>${"<i>"}</b>`;
  expect(html`<p title="${`"'&`}">${inner}${[inner]}${undefined}${false}</p>`.html).toBe(
    '<p title="&quot;&#39;&amp;"><b>&lt;i&gt;</b><b>&lt;i&gt;</b></p>',
  );
});

test("nothing in a text hides or turns around", () => {
  expect(html`${"a\u202Eb\u200Bc\u0000d"}`.html).toBe("a b c d");
});
