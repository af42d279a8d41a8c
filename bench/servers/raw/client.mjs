import { spawn } from "node:child_process";
import { once } from "node:events";
import { createAsk } from "./ask.mjs";
import { createLines } from "./lines.mjs";

/** @type {import("../../driver/client-child.mjs").Connect} */
export async function connect({ era, command, args, env }) {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, ...env } });
  const { send, read } = createLines(child.stdin);
  const { receive, hello, listTools, call } = createAsk(era, send);
  child.stdout.on("data", (chunk) => read(chunk, receive));
  await hello();
  return {
    listTools,
    call,
    async close() {
      const exited = once(child, "exit");
      child.stdin.end();
      await exited;
    },
  };
}
