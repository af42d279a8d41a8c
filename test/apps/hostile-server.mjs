// A server whose apps send too much, for the preview: its session is not in the page.
import { createServer } from "portolan/server";
import { app, apps } from "portolan/server/apps";
import { serveStdio } from "portolan/server/stdio";

const hostile = (name, script) =>
  app(`ui://hostile/${name}`, {
    html: `<!doctype html><p>App</p><script>
      const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
      const report = (data) => post({ method: "notifications/message", params: { level: "info", data } });
      addEventListener("message", ({ data }) => {
        if (data.id !== 1) return;
        post({ method: "ui/notifications/initialized", params: {} });
        ${script}
      });
      const params = { protocolVersion: "2026-01-26", appInfo: { name: "a", version: "1" }, appCapabilities: {} };
      post({ id: 1, method: "ui/initialize", params });
    </script>`,
  });

const flood = `setInterval(() => { for (let at = 0; at < 200; at += 1) report("x".repeat(100)); }, 1);`;
const bomb = `let x = "x".repeat(999); for (let at = 0; at < 50; at += 1) x = [x, x]; report(x);`;

const server = createServer({ name: "hostile", version: "1.0.0" })
  .extend(apps())
  .tool("flood", { ui: hostile("flood", flood), run: () => "shown" })
  .tool("bomb", { ui: hostile("bomb", bomb), run: () => "shown" });

serveStdio(server);
