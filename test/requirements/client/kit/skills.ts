import { createHash } from "node:crypto";
import type { JsonObject } from "portolan";
import type { Skill, SkillFile } from "portolan/client/skills";
import { type Handler, refusal, type Script } from "./scripted-server.ts";

export const skillsId = "io.modelcontextprotocol/skills";
export const uri = "skill://acme/refunds/SKILL.md";
export const manifest = "---\nname: refunds\ndescription: Pays money back\nmetadata:\n  version: '1'\n---\nPay.\n";
const root = "skill://acme/refunds";

/** What a server serves, by URI. */
export type Files = { readonly [uri: string]: string | Uint8Array };

export const files: Files = {
  [uri]: manifest,
  [`${root}/examples/email.md`]: "\uFEFFDear Ada,\r\nwe have paid. Grüße\n",
  [`${root}/a%20b.txt`]: "with a space",
  [`${root}/logo.png`]: Uint8Array.of(0x89, 0x50, 0xff, 0x00),
};

/** The entry that describes files. */
export function entryOf(described: Files = files, more: object = {}): Skill {
  const resources = Object.entries(described).map(([file, content]): SkillFile => {
    const bytes = Buffer.from(content);
    return { uri: file, digest: `sha256:${createHash("sha256").update(bytes).digest("hex")}`, size: bytes.length };
  });
  const frontmatter = { name: "refunds", description: "Pays money back", metadata: { version: "1" } };
  return { uri, frontmatter, resources, ...more };
}

/** A server whose list has the entries, and that serves the files. */
export function skillServer(
  entries: readonly unknown[],
  served: Files = files,
  on: { readonly [method: string]: Handler } = {},
): Script {
  return {
    offers: { resources: {}, extensions: { [skillsId]: { directoryRead: true } } },
    on: {
      "skills/list": () => hinted({ skills: entries }),
      "skills/get": ({ params }) => {
        const skill = entries.find((entry) => (entry as Skill).uri === params.uri);
        if (!skill) throw refusal(-32602, "no such skill");
        return hinted({ skill });
      },
      "resources/read": ({ params }) => {
        const content = served[params.uri];
        if (content === undefined) throw refusal(-32602, "no such resource");
        const encoded =
          typeof content === "string" ? { text: content } : { blob: Buffer.from(content).toString("base64") };
        return { contents: [{ uri: params.uri, ...encoded }] };
      },
      ...on,
    },
  };
}

function hinted(result: object): JsonObject {
  return { ttlMs: 0, cacheScope: "private", ...result };
}
