// @ts-check
// A terminal program that uses the protected notes: it opens a browser, waits for the sign-in, then calls two tools.
// Run: node examples/authorization/client.mjs http://localhost:4001/mcp
import { homedir } from "node:os";
import { join } from "node:path";
import { fileStore, loopback, oauth, paste } from "portolan/auth/client";
import { connect } from "portolan/client";

const url = process.argv[2] ?? "http://localhost:4001/mcp";

const auth = oauth({
  clientName: "Notes in the terminal",
  // Both scopes are requested at sign-in; without this the first note would ask for consent a second time.
  scopes: ["notes:read", "notes:write"],
  // No browser on this machine? Set PASTE=1, sign in on any device, and paste the address it is redirected to.
  redirect: process.env["PASTE"] ? paste() : loopback(),
  store: fileStore(process.env["CREDENTIALS"] ?? join(homedir(), ".portolan-example/credentials.json")),
});

const client = await connect(url, { auth });
await client.callTool("add", { text: "Buy oat milk" });
const { content } = await client.callTool("list");
console.log(content);
await client.close();
