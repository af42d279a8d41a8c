// @ts-check
// Tools that come and go while clients are connected.
import { createServer, live } from "portolan/server";

const base = createServer({ name: "devices", version: "1.0.0" }).tool("refresh", { run: () => "looked again" });

export const server = live(base);

/** Called whenever devices are plugged in or out. */
export function offer(/** @type {string[]} */ devices) {
  const next = devices.reduce((defined, device) => defined.tool(`blink_${device}`, { run: () => "blinked" }), base);
  server.update(() => next);
  server.publish("message", { level: "notice", data: `${devices.length} devices` });
}
