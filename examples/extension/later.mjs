// @ts-check
// Calls that outlive their request, and the process: a client gets a ticket, and asks for the result later.
import { randomUUID } from "node:crypto";
import { RpcError } from "portolan";

const id = "com.example/later";

/**
 * `com.example/later/call` starts a tool and answers with a ticket, `com.example/later/read` tells what became of it. A call
 * whose process has died runs again, so that only tools that change nothing may be called.
 * @param {{ storage: import("portolan/storage").Storage }} options
 * @returns {import("portolan/server").ServerExtension}
 */
export function later({ storage: { kv } }) {
  /** The calls that this process runs. @type {Set<string>} */
  const running = new Set();
  /** @param {string} key @param {import("portolan/server").DetachableRequest} request @param {import("portolan/server").ExtendedServer} server */
  const start = (key, request, server) => {
    running.add(key);
    const { outcome } = server.detach(request);
    outcome
      .then(
        (ended) => (ended.kind === "complete" ? { result: ended.result } : { error: "It asks questions." }),
        (error) => ({ error: error.message }),
      )
      .then((end) => kv.set(key, JSON.stringify({ request, ...end }), { ttlMs: 3_600_000 }))
      .catch((error) => server.report(error))
      .finally(() => running.delete(key));
  };
  return {
    id,
    on: (_, server) => ({
      settings: {},
      requests: {
        [`${id}/call`]: {
          async handle({ id: requestId, params, peer, principal }) {
            const { version } = peer.revision;
            const { capabilities } = peer;
            // The members of an exchange that are needed to run it again, as JSON.
            const request = {
              id: requestId,
              method: "tools/call",
              params: { name: params["name"], arguments: params["arguments"] },
              peer: { revision: { version }, capabilities },
              principal,
            };
            const ticket = randomUUID();
            const key = `later/${principal.key}/${ticket}`;
            await kv.set(key, JSON.stringify({ request }), { ttlMs: 3_600_000 });
            start(key, request, server);
            return { ticket };
          },
        },
        [`${id}/read`]: {
          async handle({ params, principal }) {
            const key = `later/${principal.key}/${params["ticket"]}`;
            const text = await kv.get(key);
            if (text === undefined) throw new RpcError(-32_602, "Unknown ticket");
            const { request, result, error } = JSON.parse(text);
            if (result || error) return { result, error };
            // Its process may have died. Several processes would need to agree on who runs it again.
            if (!running.has(key)) start(key, request, server);
            return { isRunning: true };
          },
        },
      },
    }),
  };
}
