// A server process controlled by a test: it relays its input to a socket and executes the commands of the socket.
// node relay.mjs <port> [deaf] [stubborn]: "deaf" ignores the end of its input, "stubborn" also SIGTERM.
import { connect } from "node:net";

const [port, ...modes] = process.argv.slice(2);
const socket = connect(Number(port), "127.0.0.1");
const note = (text) => socket.write(`# ${text}\n`);
const commands = {
  out: (base64) => process.stdout.write(Buffer.from(base64, "base64")),
  err: (text) => process.stderr.write(text),
  env: (names) => note(JSON.stringify(Object.fromEntries(names.map((name) => [name, process.env[name] ?? null])))),
  exit: (code) => process.exit(code),
};

note(`pid ${process.pid}`);
process.stdin.on("data", (chunk) => socket.write(chunk));
process.stdin.on("end", () => {
  note("end of input");
  if (modes.length === 0) socket.end();
});
if (modes.length > 0) setInterval(() => {}, 1_000);
process.on("SIGTERM", () => {
  if (modes.includes("stubborn")) note("SIGTERM");
  else socket.end("# SIGTERM\n", () => process.exit(0));
});

let held = "";
socket.setEncoding("utf8");
socket.on("data", (text) => {
  const lines = `${held}${text}`.split("\n");
  held = lines.pop();
  for (const line of lines) for (const [what, value] of Object.entries(JSON.parse(line))) commands[what](value);
});
socket.on("error", () => process.exit(3));
socket.on("close", () => {
  if (modes.length === 0) process.exit();
});
