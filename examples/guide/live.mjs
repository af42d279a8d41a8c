// @ts-check
// Tools that are added and removed while clients are connected.
import { createServer, live } from "portolan/server";

const base = createServer({ name: "devices", version: "1.0.0" }).tool("refresh", { run: () => "refreshed" });

export const server = live(base);

/** Replaces the device tools; call this whenever a device is plugged in or removed. */
export function setDevices(/** @type {string[]} */ devices) {
  const next = devices.reduce((defined, device) => defined.tool(`blink_${device}`, { run: () => "blinked" }), base);
  server.update(() => next);
  server.publish("message", { level: "notice", data: `${devices.length} devices` });
}
