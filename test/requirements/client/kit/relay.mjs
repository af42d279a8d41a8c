// A server with nobody inside: what comes in goes to a socket, and what the socket says is done.
// node relay.mjs <port> [deaf] [stubborn]: "deaf" outlives the end of its input, "stubborn" also a SIGTERM.
import { connect } from "node:net";

const [port, ...habits] = process.argv.slice(2);
const socket = connect(Number(port), "127.0.0.1");
const note = (text) => socket.write(`# ${text}\n`);
const doing = {
  out: (base64) => process.stdout.write(Buffer.from(base64, "base64")),
  err: (text) => process.stderr.write(text),
  env: (names) => note(JSON.stringify(Object.fromEntries(names.map((name) => [name, process.env[name] ?? null])))),
  exit: (code) => process.exit(code),
};

note(`pid ${process.pid}`);
process.stdin.on("data", (chunk) => socket.write(chunk));
process.stdin.on("end", () => {
  note("end of input");
  if (habits.length === 0) socket.end();
});
if (habits.length > 0) setInterval(() => {}, 1_000);
process.on("SIGTERM", () => {
  if (habits.includes("stubborn")) note("SIGTERM");
  else socket.end("# SIGTERM\n", () => process.exit(0));
});

let held = "";
socket.setEncoding("utf8");
socket.on("data", (text) => {
  const lines = `${held}${text}`.split("\n");
  held = lines.pop();
  for (const line of lines) for (const [what, value] of Object.entries(JSON.parse(line))) doing[what](value);
});
socket.on("error", () => process.exit(3));
socket.on("close", () => {
  if (habits.length === 0) process.exit();
});
