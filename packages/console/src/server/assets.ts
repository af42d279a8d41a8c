import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { extname, join } from "node:path";
import { ApiRefusal } from "./failure.ts";

/** The types of the files of the page. */
const types: { readonly [extension: string]: string } = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".ico": "image/x-icon",
  ".woff2": "font/woff2",
  ".txt": "text/plain; charset=utf-8",
};

/** Stands in `index.html` where the page needs the nonce of its styles. */
const nonceMark = "STYLE_NONCE";

export interface Assets {
  serve(path: string, response: ServerResponse): Promise<void>;
}

/** Serves the files of one folder. `frames` returns the sources of the frames of apps. */
export function createAssets(folder: string, frames: () => string): Assets {
  return {
    async serve(path, response) {
      const name = path === "/" ? "index.html" : path.slice(1);
      const type = types[extname(name)];
      // The folder is flat, and a name with another character is not one of its files.
      if (!/^[\w-][\w.-]*$/.test(name) || type === undefined) throw notFound();
      const bytes = await readFile(join(folder, name)).catch(() => undefined);
      if (!bytes) throw notFound();
      const nonce = randomBytes(16).toString("base64");
      const isPage = name === "index.html";
      response.writeHead(200, {
        "content-type": type,
        // The page names its parts; a part that changed has another name or is asked for again.
        "cache-control": isPage ? "no-store" : "no-cache",
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=(), display-capture=(), payment=(), usb=()",
        "x-frame-options": "DENY",
        "content-security-policy": policy(nonce, frames()),
      });
      response.end(isPage ? bytes.toString("utf8").replaceAll(nonceMark, nonce) : bytes);
    },
  };
}

function policy(nonce: string, frames: string): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    `style-src 'self' 'nonce-${nonce}'`,
    // Pictures and sounds of servers are read by the page and shown as blobs; nothing is fetched from elsewhere.
    "img-src 'self' blob: data:",
    "media-src blob:",
    "font-src 'self'",
    "connect-src 'self'",
    `frame-src ${frames || "'none'"}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ].join("; ");
}

function notFound(): ApiRefusal {
  return new ApiRefusal("not-found", "There is nothing at this address.");
}
