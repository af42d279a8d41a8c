import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const peers = "../test/peers/bench";
const both = ["stateful", "stateless"];
const servers = ["stdio", "memory", "one-tool", "http", "one-tool-http"];
const clients = ["client", "one-call", "http-client", "one-call-http"];
const all = [...servers, ...clients, "whole"];

/**
 * One implementation as data. A role that is absent prints as "–".
 * @typedef {object} Implementation
 * @property {string} name
 * @property {string} folder holds a program for each role: stdio.mjs and one-tool.mjs are servers to start, memory.mjs a
 *   server in the same process, client.mjs a client, one-call.mjs a client to start, whole.mjs a client and a server in one
 *   process; http.mjs, one-tool-http.mjs, http-client.mjs and one-call-http.mjs the same over HTTP
 * @property {("stdio" | "memory" | "one-tool" | "client" | "one-call" | "whole" | "http" | "one-tool-http" | "http-client" |
 *   "one-call-http")[]} roles
 * @property {("stateful" | "stateless")[]} eras
 * @property {boolean} [streamsIfItMay] answers with JSON only if the client accepts nothing else
 * @property {boolean} [waitsAtHandshake] waits a second in each handshake
 * @property {string[]} imports the imports of its stdio server, for the import cost
 * @property {string} needs a path; if it does not exist, the implementation is not built or not installed
 */

/** @type {Implementation[]} */
export const implementations = [
  {
    name: "raw",
    folder: at("./servers/raw"),
    roles: all,
    eras: both,
    imports: [],
    needs: at("./servers/raw"),
  },
  {
    name: "portolan",
    folder: at("./servers/portolan"),
    roles: all,
    eras: both,
    imports: ["portolan/server"],
    needs: at("../packages/portolan/dist/server/stdio.js"),
  },
  {
    name: "sdk-v1",
    folder: at(`${peers}/sdk-v1`),
    roles: all,
    eras: ["stateful"],
    imports: ["@modelcontextprotocol/sdk/server/mcp.js"],
    needs: at("../test/peers/node_modules/@modelcontextprotocol/sdk"),
  },
  {
    name: "sdk-v2",
    folder: at(`${peers}/sdk-v2`),
    roles: all,
    eras: both,
    imports: ["@modelcontextprotocol/server"],
    needs: at("../test/peers/node_modules/@modelcontextprotocol/server"),
  },
  {
    name: "fastmcp",
    folder: at(`${peers}/fastmcp`),
    roles: ["stdio", "one-tool", "http", "one-tool-http"],
    eras: ["stateful"],
    waitsAtHandshake: true,
    imports: ["fastmcp"],
    needs: at("../test/peers/node_modules/fastmcp"),
  },
  {
    name: "mcp-lite",
    folder: at(`${peers}/mcp-lite`),
    // Its one-tool program is a fetch handler (it has no stdio), so only its size is measured.
    roles: ["memory", "http", "one-tool-http"],
    eras: ["stateful"],
    streamsIfItMay: true,
    imports: ["mcp-lite"],
    needs: at("../test/peers/node_modules/mcp-lite"),
  },
  {
    name: "tmcp",
    folder: at(`${peers}/tmcp`),
    roles: ["stdio", "memory", "one-tool", "whole", "http", "one-tool-http"],
    eras: both,
    streamsIfItMay: true,
    imports: ["tmcp"],
    needs: at("../test/peers/node_modules/tmcp"),
  },
];

export const names = implementations.map((implementation) => implementation.name);

let chosen = names;

/** Measures only raw, portolan and these. */
export function chooseBeside(others) {
  chosen = ["raw", "portolan", ...others];
}

/** The installed implementations that have the role and era. */
export function having(role, era = "stateful") {
  return installed().filter((it) => it.roles.includes(role) && it.eras.includes(era));
}

export const installed = () => implementations.filter((it) => existsSync(it.needs) && chosen.includes(it.name));

/** The file of an implementation for a role. */
export const programOf = (name, role) => join(implementations.find((it) => it.name === name).folder, `${role}.mjs`);
