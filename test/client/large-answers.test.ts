import { spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const client = fileURLToPath(new URL("./fixtures/large-client.mjs", import.meta.url));
/** Memory that grows with the first large message of any kind: compiled code, buffers of sockets, heap pages. */
const baseBytes = 16 * 1024 * 1024;

test.each(["stdio", "json", "sse"])("an answer of 60 MB over %s needs less than three times its size", async (way) => {
  const child = spawn(process.execPath, [client, way], { stdio: ["ignore", "pipe", "inherit"] });
  const { chars, before, after } = JSON.parse(await text(child.stdout));
  expect(chars).toBeGreaterThan(59_000_000);
  expect(after - before).toBeLessThan(3 * chars + baseBytes);
});
