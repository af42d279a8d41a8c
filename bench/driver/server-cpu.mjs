import { once } from "node:events";
import { createServer } from "node:net";

const reporter = new URL("./cpu-over-socket.mjs", import.meta.url).href;

/** Reads the CPU time of a server that a client has started, over a socket beside the protocol. */
export async function watchServer() {
  let socket;
  const listener = createServer((connected) => {
    // The last connection counts: a client may first probe its server in another process.
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
