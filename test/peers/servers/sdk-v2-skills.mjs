// Skills on the official SDK, version 2, over stdio and on both eras.
import { McpServer } from "@modelcontextprotocol/server";
import { memorySkillFiles, SkillsExtension } from "@modelcontextprotocol/server/ext/skills";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const refunds = `---
name: refunds
description: >-
  Pays money back to customers.
  Use it when a customer asks for a refund.
metadata:
  version: "1.0"
---

# Refunds
`;
const files = {
  "refunds/SKILL.md": refunds,
  "refunds/examples/email.md": "Dear customer, we have paid you back. Grüße!\n",
  "refunds/logo.png": Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 0xff, 0x00),
};
const skills = await SkillsExtension.load(memorySkillFiles(files), { prefix: "acme" });

serveStdio(() => {
  const server = new McpServer({ name: "sdk-v2-skills", version: "1.0.0" });
  skills.attach(server);
  return server;
});
