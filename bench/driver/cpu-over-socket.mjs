// Preloaded into servers that a measured client starts: answers each byte with this process's CPU time in µs.
import { connect } from "node:net";

const socket = connect(Number(process.env.BENCH_CPU_PORT), "127.0.0.1");
socket.on("data", () => {
  const { user, system } = process.cpuUsage();
  socket.write(String(user + system));
});
socket.on("error", () => {});
socket.unref();
