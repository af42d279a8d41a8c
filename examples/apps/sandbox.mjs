// @ts-check
// The server of the page and the sandbox, which needs an origin of its own: another name, or at least another port.
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { sandboxHandler } from "portolan-host/apps/sandbox";

/** @param {string} page the origin of the page @param {string} sandbox the origin of the sandbox */
export function createSandbox(page, sandbox) {
  const handler = sandboxHandler({ hosts: [page] });
  return {
    /** Serve this on the sandbox's origin and on all names below it, and nothing else beside it. */
    server: createServer((request, response) => handler.node(request, response)),
    /**
     * @param {import("portolan-host/apps").AppGrant} grant what the user has allowed the app
     * @param {string} [owner] the user, the server and the app: it then has an origin of its own, with what it has stored
     */
    addressOf(grant, owner) {
      if (owner === undefined) return sandbox + handler.add(grant).path;
      const label = createHash("sha256").update(owner).digest("hex").slice(0, 32);
      return sandbox + handler.add(grant, { app: sandbox.replace("//", `//${label}.`), sandbox }).path;
    },
  };
}
