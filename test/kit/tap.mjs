// Records the messages of a server process, ours or another's, without changing them: one line of JSON for each message,
// in the file that the query of its URL names.
//   node --import "file:///…/tap.mjs?stdio=<file>" server.mjs   for servers on standard input and output
//   node --import "file:///…/tap.mjs?http=<file>" server.mjs    for servers over Streamable HTTP or HTTP+SSE
import { appendFileSync } from "node:fs";
import { tapHttp } from "./tap-http.mjs";
import { splitter, wrap } from "./tap-streams.mjs";

const query = new URL(import.meta.url).searchParams;
const file = query.get("stdio") ?? query.get("http");

if (query.has("stdio")) tapStdio();
else tapHttp(note);

function note(connection, from, text) {
  if (text.trim() !== "") appendFileSync(file, `${JSON.stringify({ connection, from, text })}\n`);
}

function tapStdio() {
  const { stdin, stdout } = process;
  const fromClient = splitter("\n", (line) => note("stdio", "client", line));
  const fromServer = splitter("\n", (line) => note("stdio", "server", line));
  wrap(stdin, "push", (push, chunk) => {
    if (chunk !== null) fromClient(chunk);
    return push();
  });
  wrap(stdout, "write", (write, chunk) => {
    fromServer(chunk);
    return write();
  });
}
