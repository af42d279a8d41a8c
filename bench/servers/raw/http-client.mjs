import { Agent, request } from "node:http";
import { createAsk } from "./ask.mjs";

/** @type {import("../../driver/client-child.mjs").Connect} */
export async function connect({ era, url }) {
  const { hostname, port, pathname: path } = new URL(url);
  const agent = new Agent({ keepAlive: true });
  const always = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  /** The version header, and the session header after the handshake. */
  let named = era === "stateless" ? { "mcp-protocol-version": "2026-07-28" } : {};
  let told = Promise.resolve();

  function send(message) {
    const body = JSON.stringify(message);
    const headers = { ...always, ...named, "content-length": Buffer.byteLength(body) };
    if (era === "stateless") {
      headers["mcp-method"] = message.method;
      if (message.params.name !== undefined) headers["mcp-name"] = message.params.name;
    }
    const posted = request({ agent, hostname, port, path, method: "POST", headers }, (response) => {
      const session = response.headers["mcp-session-id"];
      if (session !== undefined) named = { "mcp-protocol-version": "2025-06-18", "mcp-session-id": session };
      response.setEncoding("utf8");
      if (response.headers["content-type"] === "text/event-stream") readEvents(response);
      else readJson(response);
    });
    posted.end(body);
    if (message.id === undefined) told = new Promise((resolve) => posted.on("close", resolve));
  }

  function readJson(response) {
    let text = "";
    response.on("data", (chunk) => {
      text += chunk;
    });
    response.on("end", () => text !== "" && receive(JSON.parse(text)));
  }

  function readEvents(response) {
    let rest = "";
    response.on("data", (chunk) => {
      const events = (rest + chunk).split("\n\n");
      rest = events.pop();
      for (const event of events) receive(JSON.parse(event.slice(event.indexOf("data: ") + 6)));
    });
  }

  const { receive, hello, listTools, call } = createAsk(era, send);
  await hello();
  await told;
  return { listTools, call, close: async () => agent.destroy() };
}
