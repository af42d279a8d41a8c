// Serves the file storage's guide on a port, until it is killed.
import { serveFromFolder } from "../../examples/guide/storage.mjs";

// Not arguments: the example that it imports would take them for its own.
const { FOLDER: folder = "", PORT: port = "0" } = process.env;
const { mcp } = await serveFromFolder(folder);
const { url } = await mcp.listen(Number(port));
process.stdout.write(`${url}\n`);
