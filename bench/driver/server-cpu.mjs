import { once } from "node:events";
import { createServer } from "node:net";

const reporter = new URL("./cpu-over-socket.mjs", import.meta.url).href;

/** Lets a client that starts its server itself ask for that server's CPU time, over a socket beside the protocol. */
export async function watchServer() {
  let socket;
  const listener = createServer((connected) => {
    // The last one counts: a client may first try its server in a process of its own.
    socket = connected;
    connected.on("error", () => {});
    connected.unref();
  });
  listener.listen(0, "127.0.0.1").unref();
  await once(listener, "listening");
  const env = { BENCH_CPU_PORT: String(listener.address().port) };
  return {
    target: (script) => ({ args: ["--import", reporter, script], env }),
    /** CPU µs (user + system, all threads) the server has used so far. */
    async cpu() {
      socket.write("?");
      const [answer] = await once(socket, "data");
      return Number(answer);
    },
  };
}
