import { permissionNames } from "../sources.ts";

/**
 * The script of the sandbox page, the same for every app. It announces itself, writes the document that it is handed into
 * a frame of its own, and passes messages on. It never looks into them but for their method: `ui/notifications/sandbox-*`
 * are between the host and this page. HOSTS stands for the list of origins that may
 * show it, NAMES for the permissions.
 *
 * The inner frame has no origin, so that it has neither storage nor cookies and its messages are told by their window
 * alone. It inherits the policy of this page, which came as a header.
 */
const script = `
"use strict";
(() => {
  const hosts = HOSTS;
  const names = Object.entries(NAMES);
  const stop = (why) => { document.body.textContent = "This page shows apps in a sandbox. " + why; };
  let host;
  try { host = new URL(document.referrer).origin; } catch {}
  if (window.parent === window) return stop("It works only in a frame.");
  if (host === location.origin) return stop("It must not have the origin of the page that shows it.");
  if (!hosts.includes(host)) return stop("It was opened by a page that it does not know.");
  if (window.origin === "null") return stop("Its frame needs allow-same-origin.");
  const isReserved = (data) => typeof data === "object" && data !== null && typeof data.method === "string"
    && data.method.startsWith("ui/notifications/sandbox-");
  let inner;
  const show = (params) => {
    if (inner || typeof params !== "object" || params === null || typeof params.html !== "string") return;
    inner = document.createElement("iframe");
    inner.setAttribute("sandbox", "allow-scripts allow-forms");
    const wanted = typeof params.permissions === "object" && params.permissions !== null ? params.permissions : {};
    inner.setAttribute("allow", names.filter(([name]) => wanted[name]).map(([, one]) => one + " *").join("; "));
    inner.referrerPolicy = "no-referrer";
    inner.title = "App";
    inner.srcdoc = params.html;
    document.body.append(inner);
  };
  window.addEventListener("message", (event) => {
    if (event.source === window.parent && event.origin === host) {
      if (!isReserved(event.data)) { if (inner) inner.contentWindow.postMessage(event.data, "*"); }
      else if (event.data.method === "ui/notifications/sandbox-resource-ready") show(event.data.params);
    } else if (inner && event.source === inner.contentWindow && event.origin === "null" && !isReserved(event.data)) {
      window.parent.postMessage(event.data, host);
    }
  });
  window.parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, host);
})();
`;

/** Returns the page of a sandbox whose apps these origins may show. */
export function pageFor(hosts: readonly string[]): string {
  // Origins hold no character that could end the script.
  const own = script.replace("HOSTS", JSON.stringify(hosts)).replace("NAMES", JSON.stringify(permissionNames));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>Sandbox</title>
<style>
html, body { margin: 0; height: 100%; overflow: hidden; background: transparent; font: 14px system-ui, sans-serif; }
iframe { border: 0; width: 100%; height: 100%; display: block; color-scheme: normal; }
</style>
</head>
<body>
<script>${own}</script>
</body>
</html>
`;
}
