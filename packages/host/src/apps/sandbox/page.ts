import { frameAnnounceMs } from "../limits.ts";
import { permissionNames } from "../sources.ts";

/**
 * The script of the sandbox page. It announces itself, hands the document that it gets to a frame of its own, and passes
 * messages on. It never looks into them but for their method: `ui/notifications/sandbox-*` are between the host, this page
 * and the frame. HOSTS stands for the list of origins that may show it, NAMES for the permissions, OWN for the address of
 * the app's frame on its own origin, or null.
 *
 * Without such an address the frame has no origin: neither storage nor cookies, and its messages are told by their window
 * alone. It inherits the policy of this page, which came as a header. The same holds where the browser does not find the
 * address, such as a name below `localhost` in a browser that does not resolve it.
 */
const script = `
"use strict";
(() => {
  const hosts = HOSTS;
  const names = Object.entries(NAMES);
  const own = OWN;
  const stop = (why) => { document.body.textContent = "This page shows apps in a sandbox. " + why; };
  let host;
  try { host = new URL(document.referrer).origin; } catch {}
  if (window.parent === window) return stop("It works only in a frame.");
  if (host === location.origin) return stop("It must not have the origin of the page that shows it.");
  if (!hosts.includes(host)) return stop("It was opened by a page that it does not know.");
  if (window.origin === "null") return stop("Its frame needs allow-same-origin.");
  const isReserved = (data) => typeof data === "object" && data !== null && typeof data.method === "string"
    && data.method.startsWith("ui/notifications/sandbox-");
  let inner, app, html, hasLoaded = false;
  const frameFor = (permissions, address) => {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts allow-forms" + (address ? " allow-same-origin" : ""));
    frame.setAttribute("allow", names.filter(([name]) => permissions[name]).map(([, one]) => one + " *").join("; "));
    frame.referrerPolicy = address ? "origin" : "no-referrer";
    frame.title = "App";
    app = address ? new URL(address).origin : "null";
    if (address) frame.src = address; else frame.srcdoc = html;
    return frame;
  };
  const show = (params) => {
    if (inner || typeof params !== "object" || params === null || typeof params.html !== "string") return;
    html = params.html;
    const wanted = typeof params.permissions === "object" && params.permissions !== null ? params.permissions : {};
    inner = frameFor(wanted, own);
    if (own) inner.addEventListener("load", () => setTimeout(() => {
      if (hasLoaded) return;
      inner.remove();
      inner = document.body.appendChild(frameFor(wanted));
    }, ANNOUNCE), { once: true });
    document.body.append(inner);
  };
  window.addEventListener("message", (event) => {
    if (event.source === window.parent && event.origin === host) {
      if (!isReserved(event.data)) { if (inner) inner.contentWindow.postMessage(event.data, app === "null" ? "*" : app); }
      else if (event.data.method === "ui/notifications/sandbox-resource-ready") show(event.data.params);
    } else if (inner && event.source === inner.contentWindow && event.origin === app) {
      if (!isReserved(event.data)) window.parent.postMessage(event.data, host);
      else if (own && event.data.method === "ui/notifications/sandbox-frame-ready") {
        hasLoaded = true;
        inner.contentWindow.postMessage({ html }, app);
      }
    }
  });
  window.parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, host);
})();
`;

/**
 * The script of the frame of an app on the app's own origin. It writes the document that the sandbox hands it in its own
 * place, so that the app has this origin and the policy that came as a header. SANDBOX stands for the sandbox's origin.
 */
const frameScript = `
"use strict";
(() => {
  const sandbox = SANDBOX;
  if (window.parent === window || window.origin === "null" || location.origin === sandbox) return;
  window.addEventListener("message", ({ source, origin, data }) => {
    if (source !== window.parent || origin !== sandbox) return;
    if (typeof data !== "object" || data === null || typeof data.html !== "string") return;
    // Ends this script's listener, too.
    document.open();
    document.write(data.html);
    document.close();
  });
  window.parent.postMessage({ method: "ui/notifications/sandbox-frame-ready" }, sandbox);
})();
`;

/** Returns the page of a sandbox whose apps these origins may show. `own` is the address of the app's frame on its own origin. */
export function pageFor(hosts: readonly string[], own: string | undefined): string {
  // Origins and paths of the handler hold no character that could end the script.
  const text = script
    .replace("HOSTS", JSON.stringify(hosts))
    .replace("NAMES", JSON.stringify(permissionNames))
    .replace("OWN", JSON.stringify(own ?? null))
    .replace("ANNOUNCE", String(frameAnnounceMs));
  return documentWith(text);
}

/** Returns the page of an app's frame on the app's own origin. */
export function framePageFor(sandbox: string): string {
  return documentWith(frameScript.replace("SANDBOX", JSON.stringify(sandbox)));
}

function documentWith(text: string): string {
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
<script>${text}</script>
</body>
</html>
`;
}
