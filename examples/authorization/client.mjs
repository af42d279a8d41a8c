// @ts-check
// A program on somebody's machine that uses the protected notes: a browser opens, the person signs in, and it goes on.
//   node examples/authorization/client.mjs http://localhost:4001/mcp
import { homedir } from "node:os";
import { join } from "node:path";
import { fileStore, loopback, oauth, paste } from "portolan/auth/client";
import { connect } from "portolan/client";

const url = process.argv[2] ?? "http://localhost:4001/mcp";

const auth = oauth({
  clientName: "Notes in the terminal",
  // It will write too, so the person is asked once and not again at the first note.
  scopes: ["notes:read", "notes:write"],
  // Without a browser on this machine: PASTE=1, then sign in anywhere and paste the address that comes back.
  redirect: process.env["PASTE"] ? paste() : loopback(),
  store: fileStore(process.env["CREDENTIALS"] ?? join(homedir(), ".portolan-example/credentials.json")),
});

const client = await connect(url, { auth });
await client.callTool("add", { text: "Buy oat milk" });
const { content } = await client.callTool("list");
console.log(content);
await client.close();
