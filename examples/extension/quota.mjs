// @ts-check
// An extension of the protocol, both halves: each tool has a cost, and each caller a number of units for an hour.
import { RpcError } from "portolan";

// region server
export const id = "com.example/quota";

/** Callers that are counted at the same time. Beyond it a new caller waits for the next hour. */
const maxCallers = 10_000;

/**
 * The server's half. A tool names its cost in `extensions: { [id]: { cost } }`; without one it costs a unit.
 * @param {{ units: number }} options
 * @returns {import("portolan/server").ServerExtension}
 */
export function quota({ units }) {
  /** @type {Map<string, number>} */
  let spent = new Map();
  let hour = 0;
  const leftFor = (/** @type {string} */ caller) => {
    const now = Math.floor(Date.now() / 3_600_000);
    if (now !== hour) spent = new Map();
    hour = now;
    const used = spent.get(caller) ?? (spent.size < maxCallers ? 0 : units);
    return units - used;
  };

  return {
    id,
    on: () => ({
      settings: { units },
      requests: { [`${id}/read`]: { handle: ({ principal }) => ({ left: leftFor(principal.key) }) } },
      // A client that watches `quota` gets `notifications/com.example/quota` with each of its calls.
      listen: { quota: { admit: (wanted) => wanted === true || undefined, wants: (_, topic) => topic === id } },
      decorate: (entry, { kind, options }) =>
        kind === "tool" ? { ...entry, _meta: { ...Object(entry["_meta"]), [id]: { cost: costOf(options) } } } : entry,
    }),
    // Runs for every client, also for those that do not know the extension.
    around(exchange, next, isDeclared, server) {
      if (exchange.method !== "tools/call") return next(exchange);
      const caller = exchange.principal.key;
      const cost = costOf(server.optionsOf("tool", String(exchange.params["name"]), exchange));
      const left = leftFor(caller) - cost;
      if (left < 0) {
        const why = `This call costs ${cost} units, and ${left + cost} are left in this hour.`;
        if (isDeclared) throw new RpcError(1001, why, { data: { cost, left: left + cost } });
        return { kind: "complete", result: { content: [{ type: "text", text: why }], isError: true } };
      }
      spent.set(caller, units - left);
      server.publish(id, { left }, { principal: caller });
      return next(exchange);
    },
  };
}

/** @param {unknown} options */
function costOf(options) {
  const { cost = 1 } = /** @type {{ cost?: number }} */ (Object(options));
  return cost;
}
// endregion

// region client
/**
 * The client's half: declares the extension, and understands its notification.
 * @returns {import("portolan/client").ClientExtension}
 */
export function quotaClient() {
  return { id, on: () => ({ listen: { quota: { notification: `notifications/${id}` } } }) };
}

/** Returns how many units are left. @param {import("portolan/client").Client} client */
export async function readQuota(client) {
  const { left } = await client.request(`${id}/read`, {});
  return Number(left);
}
// endregion
