// Skills of a folder by the package `@olaservo/ext-skills`, over stdio and on both eras: node ext-skills.mjs <folder>
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";
import { discoverSkills, registerSkillResources } from "@olaservo/ext-skills/server";

const [folder] = process.argv.slice(2);
const found = discoverSkills(folder);

serveStdio(() => {
  const server = new McpServer({ name: "ext-skills", version: "1.0.0" }, { capabilities: { resources: {} } });
  registerSkillResources(server, found, folder, { directoryRead: true });
  return server;
});
