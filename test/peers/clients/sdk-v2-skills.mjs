// The skills of the official SDK, version 2, as a client of a program.
import { Client } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

/** Connects to a program on one revision, with the handshake or without. */
export async function openSkills(command, args, version, hasHandshake) {
  const options = hasHandshake
    ? { versionNegotiation: { mode: "legacy" }, supportedProtocolVersions: [version] }
    : { versionNegotiation: { mode: { pin: version } } };
  const client = new Client({ name: "skills", version: "1.0.0" }, options);
  await client.connect(new StdioClientTransport({ command, args }));
  const skills = new SkillsClient(client);
  return {
    version: client.getNegotiatedProtocolVersion(),
    directoryRead: skills.directoryRead,
    list: async () => (await skills.list()).skills,
    get: async (uri) => (await skills.get(uri)).skill,
    read: (skill, ref) => skills.read(skill, ref),
    readDirectory: async (uri) => (await skills.readDirectory(uri)).resources,
    close: () => client.close(),
  };
}
