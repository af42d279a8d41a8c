// The client half of the package `@olaservo/ext-skills`, as a client of a program.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import {
  getSkill,
  listSkills,
  readDirectory,
  readSkill,
  readSkillResource,
  serverSupportsDirectoryRead,
} from "@olaservo/ext-skills/client";

/** Connects to a program on one revision, with the handshake or without. */
export async function openExtSkills(command, args, version, hasHandshake) {
  const options = hasHandshake
    ? { versionNegotiation: { mode: "legacy" }, supportedProtocolVersions: [version] }
    : { versionNegotiation: { mode: { pin: version } } };
  const client = new Client({ name: "ext-skills", version: "1.0.0" }, options);
  await client.connect(new StdioClientTransport({ command, args }));
  return {
    version: client.getNegotiatedProtocolVersion(),
    directoryRead: serverSupportsDirectoryRead(client),
    list: () => listSkills(client),
    get: (uri) => getSkill(client, uri),
    open: (skill) => readSkill(client, skill),
    read: (skill, uri) => readSkillResource(client, skill, uri),
    readDirectory: async (uri) => (await readDirectory(client, uri)).resources,
    close: () => client.close(),
  };
}
