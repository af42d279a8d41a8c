// @ts-check
// The server of the page and the sandbox, which needs an origin of its own: another name, or at least another port.
import { createServer } from "node:http";
import { sandboxHandler } from "portolan-host/apps/sandbox";

/** @param {string} page the origin of the page @param {string} sandbox the origin of the sandbox */
export function createSandbox(page, sandbox) {
  const handler = sandboxHandler({ hosts: [page] });
  return {
    /** Serve this on the sandbox's origin, and nothing else beside it. */
    server: createServer((request, response) => handler.node(request, response)),
    /** @param {import("portolan-host/apps").AppGrant} grant what the user has allowed the app */
    addressOf: (grant) => sandbox + handler.add(grant).path,
  };
}
