import { expect, test } from "vitest";
import { createServer } from "./server.ts";

// biome-ignore lint/suspicious/noExplicitAny: plain JavaScript passes anything
const any = (value: unknown): any => value;
const server = createServer({ name: "test", version: "1" });
const handler = () => "";

test.each([
  ["inputSchema", "input"],
  ["parameters", "input"],
  ["outputSchema", "output"],
  ["handler", "run"],
  ["callback", "run"],
  ["execute", "run"],
  ["descriptoin", "description"],
])("a tool with %s is refused, and %s is suggested", (given, known) => {
  expect(() => server.tool("x", any({ [given]: handler }))).toThrow(
    `Tool "x": unknown option \`${given}\`; did you mean \`${known}\`?`,
  );
});

test.each([
  ["createServer", () => createServer({ name: "a", version: "1" }, any({ instruction: "" })), "instructions"],
  ['Resource "x:a"', () => server.resource("x:a", any({ read: handler, mimetype: "" })), "mimeType"],
  ['Resource "x:{a}"', () => server.template("x:{a}", any({ handler })), "read"],
  [
    'Prompt "p": argument "a"',
    () => server.prompt("p", any({ get: handler, arguments: { a: { require: 1 } } })),
    "required",
  ],
  ['Method "m"', () => server.method("m", any({ handler })), "handle"],
])("%s refuses an unknown name and suggests the nearest one", (where, make, known) => {
  expect(make).toThrow(new RegExp(`^${where.replace(/[{}]/g, "\\$&")}: unknown option .*did you mean \`${known}\``));
});

test("a definition may have every known member", () => {
  const described = { title: "", description: "", icons: [], meta: {}, visibleTo: () => true };
  const schema = { type: "object" };
  const tool = { ...described, input: schema, output: schema, annotations: {}, needs: {}, asks: "park", run: handler };
  expect(() => server.tool("x", any(tool))).not.toThrow();
});
