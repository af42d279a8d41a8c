import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));
const peers = "../test/peers/bench";
const both = ["stateful", "stateless"];

/**
 * One implementation as data. A door that is absent prints as "–".
 * @typedef {object} Implementation
 * @property {string} name
 * @property {string} folder holds stdio.mjs (child program), memory.mjs (connect) and one-tool.mjs, as `doors` says
 * @property {("stdio" | "memory" | "one-tool")[]} doors
 * @property {("stateful" | "stateless")[]} eras
 * @property {string[]} imports what a stdio server of it imports, for the import cost
 * @property {string} needs absent means: not built or not installed
 */

/** @type {Implementation[]} */
export const implementations = [
  {
    name: "raw",
    folder: at("./servers/raw"),
    doors: ["stdio", "memory", "one-tool"],
    eras: both,
    imports: [],
    needs: at("./servers/raw"),
  },
  {
    name: "portolan",
    folder: at("./servers/portolan"),
    doors: ["stdio", "memory", "one-tool"],
    eras: both,
    imports: ["portolan/server"],
    needs: at("../packages/portolan/dist/server/stdio.js"),
  },
  {
    name: "sdk-v1",
    folder: at(`${peers}/sdk-v1`),
    doors: ["stdio", "memory", "one-tool"],
    eras: ["stateful"],
    imports: ["@modelcontextprotocol/sdk/server/mcp.js"],
    needs: at("../test/peers/node_modules/@modelcontextprotocol/sdk"),
  },
  {
    name: "sdk-v2",
    folder: at(`${peers}/sdk-v2`),
    doors: ["stdio", "memory", "one-tool"],
    eras: both,
    imports: ["@modelcontextprotocol/server"],
    needs: at("../test/peers/node_modules/@modelcontextprotocol/server"),
  },
  {
    name: "fastmcp",
    folder: at(`${peers}/fastmcp`),
    doors: ["stdio", "one-tool"],
    eras: ["stateful"],
    imports: ["fastmcp"],
    needs: at("../test/peers/node_modules/fastmcp"),
  },
  {
    name: "mcp-lite",
    folder: at(`${peers}/mcp-lite`),
    // Its one-tool program is a fetch handler (it has no stdio), so only its size is measured.
    doors: ["memory"],
    eras: ["stateful"],
    imports: ["mcp-lite"],
    needs: at("../test/peers/node_modules/mcp-lite"),
  },
  {
    name: "tmcp",
    folder: at(`${peers}/tmcp`),
    doors: ["stdio", "memory", "one-tool"],
    eras: both,
    imports: ["tmcp"],
    needs: at("../test/peers/node_modules/tmcp"),
  },
];

export const names = implementations.map((implementation) => implementation.name);

/** Those that are installed and have the door and era asked for. */
export function having(door, era = "stateful") {
  return implementations.filter((it) => existsSync(it.needs) && it.doors.includes(door) && it.eras.includes(era));
}

export const installed = () => implementations.filter((it) => existsSync(it.needs));
