import { expect, test } from "vitest";
import { toAppFiles } from "./files.ts";

const offer = (uri: string, more: object = { text: "a" }) =>
  ({ type: "resource", resource: { uri, ...more } }) as never;

test.each([
  ["file:///seats.csv", "seats.csv"],
  ["file:///../../etc/passwd", "passwd"],
  ["file:///..%2F..%2F.bashrc", "_.._.bashrc"],
  ["file:///.bashrc", "bashrc"],
  ["file:///C%3A%5Cwindows%5Cx.dll", "C__windows_x.dll"],
  ["file:///seats%E2%80%AEfdp.exe", "seatsfdp.exe"],
  ["file:///a%00b%0Ac", "abc"],
  ["file:///nul.txt", "_nul.txt"],
  ["file:///a.txt.%20", "a.txt"],
  ["file:///%E0%A4%A", "%E0%A4%A"],
  ["file:///a.csv?x=/b#/c", "a.csv"],
  ["file:///", "file"],
  ["", "file"],
])("%s is offered as %s", (uri, name) => {
  expect(toAppFiles([offer(uri)])?.[0]?.name).toBe(name);
});

test("a long name keeps its ending", () => {
  const [file] = toAppFiles([offer(`file:///${"x".repeat(500)}.csv`)]) ?? [];
  expect(file?.name).toMatch(/^x{116}\.csv$/);
});

test("text and base64 become bytes", () => {
  const files = toAppFiles([
    offer("a:b/ä.txt", { text: "ä", mimeType: "text/plain" }),
    offer("a:b/c", { blob: "AQI=" }),
  ]);
  expect(files).toEqual([
    { name: "ä.txt", mimeType: "text/plain", bytes: new TextEncoder().encode("ä") },
    { name: "c", bytes: Uint8Array.of(1, 2) },
  ]);
});

test.each([
  ["nothing", []],
  ["a link", [{ type: "resource_link", uri: "https://example.com/a", name: "a" }]],
  ["no content", [offer("file:///a", {})]],
  ["no base64", [offer("file:///a", { blob: "%" })]],
  ["no resource", [{ type: "resource" }]],
  ["one of two", [offer("file:///a"), { type: "text", text: "a" }]],
  ["too many", Array.from({ length: 17 }, () => offer("file:///a"))],
])("%s is refused", (_, contents) => {
  expect(toAppFiles(contents as never)).toBeUndefined();
});
