// Serves the default export of a module over stdio: node serve.mjs <module>. A function is called to create the server.
import { pathToFileURL } from "node:url";
import { serveStdio } from "portolan/server/stdio";

const [path] = process.argv.slice(2);
const { default: server } = await import(pathToFileURL(path).href);
const maxMessageBytes = Number(process.env.MAX_MESSAGE_BYTES ?? 16 * 1024 * 1024);
serveStdio(typeof server === "function" ? server() : server, { maxMessageBytes });
