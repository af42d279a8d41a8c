import { connect } from "portolan/client";
import { createServer, live } from "portolan/server";
import { app, apps } from "portolan/server/apps";
import { serveHttp } from "portolan/server/http";
import { connectInMemory } from "portolan/testing";
import { expect, onTestFinished, test } from "vitest";

const html = "<!doctype html><p>Board</p>";
const board = app("ui://chess/board", { html });
const info = { name: "chess", version: "1.0.0" };

test("a tool with a `ui` is refused without the extension", () => {
  expect(() => createServer(info).tool("move", { ui: board, run: () => "e4" })).toThrow(/ui.*apps\(\)/);
});

test.each([
  ["a URI of another scheme", () => app("https://example.com", { html }), /begins with ui:\/\//],
  ["a text that is no document", () => app("ui://a", { html: "<p>Board" }), /<!doctype html>/],
  ["a text of comments alone", () => app("ui://a", { html: "<!---->".repeat(50_000) }), /<!doctype html>/],
  [
    "an origin that ends the directive",
    () => app("ui://a", { html, csp: { connect: ["https://a; x"] } }),
    /csp.connect/,
  ],
  ["every origin at once", () => app("ui://a", { html, csp: { connect: ["*"] } }), /csp.connect/],
  ["an unknown permission", () => app("ui://a", { html, permissions: ["usb" as never] }), /permissions/],
  ["an unknown option", () => app("ui://a", { html, colour: "red" } as never), /colour/],
  ["an unknown option of apps()", () => apps({ alway: true } as never), /always/],
])("%s is refused", (_, define, message) => {
  expect(define).toThrow(message);
});

test("a document may begin with space and comments", () => {
  expect(() => app("ui://a", { html: `\uFEFF <!-- one --> <!-- <p> --> ${html}` })).not.toThrow();
});

test.each([
  ["no app", "board", /made by app\(\)/],
  ["an empty `for`", { app: board, for: [] }, /ui.for/],
  ["an unknown member", { app: board, csp: {} }, /csp/],
])("a `ui` with %s is refused", (_, ui, message) => {
  const server = createServer(info).extend(apps());
  expect(() => server.tool("move", { ui: ui as never, run: () => "e4" })).toThrow(message);
});

test("two apps with one URI are refused, and one app serves several tools", () => {
  const server = createServer(info)
    .extend(apps())
    .tool("move", { ui: board, run: () => "e4" });
  expect(() => server.tool("undo", { ui: board, run: () => "e2" })).not.toThrow();
  const other = app("ui://chess/board", { html });
  expect(() => server.tool("undo", { ui: other, run: () => "e2" })).toThrow(/another app/);
});

test.each([
  ["an empty text", ""],
  ["nothing", undefined],
  ["an empty list", []],
  ["a picture alone", [{ type: "image" as const, data: "AAAA", mimeType: "image/png" }]],
])("a result with %s fails, because no client could show it", async (_, returned) => {
  const failures: unknown[] = [];
  const server = createServer(info, { onError: (error) => failures.push(error) })
    .extend(apps())
    .tool("move", { ui: board, run: () => returned });
  await using client = await connectInMemory(server);
  expect(await client.callTool("move")).toMatchObject({ isError: true });
  expect(String(failures[0])).toMatch(/returned no text/);
});

test("`always` names apps to clients that declare nothing", async () => {
  const server = createServer(info)
    .extend(apps({ always: true }))
    .tool("move", { ui: board, run: () => "e4" });
  await using client = await connectInMemory(server);
  const [tool] = await client.listTools();
  expect(tool?._meta).toEqual({ ui: { resourceUri: "ui://chess/board" } });
});

test("a mounted and a live server keep their apps", async () => {
  const chess = createServer(info)
    .extend(apps({ always: true }))
    .tool("move", { ui: board, run: () => "e4" });
  const served = live(
    createServer({ name: "games", version: "1.0.0" })
      .extend(apps({ always: true }))
      .mount("chess_", chess),
  );
  const other = app("ui://go/board", { html });
  await served.update((current) => current.tool("place", { ui: other, run: () => "d4" }));
  await using client = await connectInMemory(served);
  const tools = await client.listTools();
  expect(tools.map(({ name, _meta }) => [name, _meta?.["ui"]])).toEqual([
    ["chess_move", { resourceUri: "ui://chess/board" }],
    ["place", { resourceUri: "ui://go/board" }],
  ]);
  for (const uri of ["ui://chess/board", "ui://go/board"]) {
    expect((await client.readResource(uri)).contents[0]).toMatchObject({ uri, text: html });
  }
});

test("an app from a file is read for each request, over HTTP", async () => {
  const file = app("ui://chess/file", { html: new URL("./board.html", import.meta.url) });
  const server = createServer(info)
    .extend(apps())
    .tool("move", { ui: file, run: () => "e4" });
  const endpoint = serveHttp(server);
  onTestFinished(() => endpoint.close());
  const { url } = await endpoint.listen(0);
  await using client = await connect(url);
  const [read] = (await client.readResource("ui://chess/file")).contents;
  expect(read).toMatchObject({
    mimeType: "text/html;profile=mcp-app",
    text: expect.stringContaining("<h1>Board</h1>"),
  });
});
