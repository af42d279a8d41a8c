// A server with two apps and tools that use them.
import { createServer } from "portolan/server";
import { app, apps } from "portolan/server/apps";

const html = "<!doctype html><html><head><title>Board</title></head><body>Board</body></html>";
const board = app("ui://chess/board", {
  html,
  title: "Board",
  csp: { connect: ["https://api.example.com"], resources: ["https://*.example.com"], frames: [], base: [] },
  permissions: ["clipboard-write"],
  border: true,
});
const plain = app("ui://chess/plain", { html: () => html });

export default createServer({ name: "chess", version: "1.0.0" }, { onError() {} })
  .extend(apps())
  .tool("move", { ui: board, meta: { "example.com/note": "kept" }, run: () => ({ square: "e4" }) })
  .tool("hint", { ui: { app: board, for: ["app"] }, run: () => "Nf3" })
  .tool("resign", { ui: { app: plain, for: ["model", "app"] }, run: () => "You resigned" })
  .tool("silent", { ui: plain, run: () => undefined })
  .tool("count", { run: () => "1" })
  .resource("text:rules", { read: () => "Rules" });
