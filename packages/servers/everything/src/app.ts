import { type App, app } from "portolan/server/apps";

/** An app: a page that a host shows with the result of `measure`. Hosts without apps show the text. */
export const chart: App = app("ui://everything/measure", {
  title: "Measurements",
  html: `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <title>Measurements</title>
    <style>
      body { margin: 0; padding: 12px; font: 14px system-ui, sans-serif; color: light-dark(#1b1f24, #e6e8eb); }
      h1 { font-size: 15px; margin: 0 0 8px; }
      div { height: 20px; margin: 3px 0; padding-left: 6px; background: #2f7de1; color: #fff; border-radius: 4px; }
    </style>
  </head>
  <body>
    <h1></h1>
    <main></main>
    <script>
      // JSON-RPC with the page around this one: introduce yourself, then take the result of the tool.
      const post = (message) => parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
      addEventListener("message", ({ source, data }) => {
        if (source !== parent) return;
        const { id, method, params } = data;
        if (id === 1) {
          post({ method: "ui/notifications/initialized", params: {} });
          post({ method: "ui/notifications/size-changed", params: { height: 160 } });
        } else if (method === "tools/list") post({ id, result: { tools: [warmest] } });
        else if (method === "tools/call") post({ id, result: { content: [{ type: "text", text: highest() }] } });
        else if (id !== undefined) post({ id, result: {} });
        else if (method === "ui/notifications/tool-result" && params.structuredContent) draw(params.structuredContent);
      });
      // A tool of this page for the model, as long as the page is open.
      const warmest = {
        name: "warmest",
        description: "Returns the highest of the temperatures that the user sees.",
        inputSchema: { type: "object" },
        annotations: { readOnlyHint: true, openWorldHint: false },
      };
      let shown = [];
      const highest = () => (shown.length > 0 ? Math.max(...shown) + " °C" : "Nothing is shown yet.");
      const draw = ({ place, celsius }) => {
        shown = celsius;
        document.querySelector("h1").textContent = place.name;
        const bar = (degrees) =>
          Object.assign(document.createElement("div"), { textContent: degrees + " °C", style: "width: " + degrees * 30 + "px" });
        document.querySelector("main").replaceChildren(...celsius.map(bar));
      };
      post({
        id: 1,
        method: "ui/initialize",
        params: {
          protocolVersion: "2026-01-26",
          appInfo: { name: "portolan-everything", version: "0.1.0" },
          appCapabilities: { availableDisplayModes: ["inline"], tools: {} },
        },
      });
    </script>
  </body>
</html>
`,
});
