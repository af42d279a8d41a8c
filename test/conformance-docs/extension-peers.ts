import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

/** Another implementation of an extension: how it is tried, or why it is not. */
interface ExtensionPeer {
  readonly peer: string;
  /** The folder whose lock file has its version. Absent if it is not tried. */
  readonly installed?: string;
  readonly extension?: string;
  /** What it is; we are the other side. */
  readonly as?: string;
  readonly tests?: readonly string[];
  readonly note?: string;
  readonly reason?: string;
}

const peers: readonly ExtensionPeer[] = JSON.parse(
  readFileSync(join(root, "test/interop/extension-peers.json"), "utf8"),
);

/** Renders the peers of extensions, with the versions of the lock files. Throws if one names a test that does not exist. */
export function renderExtensionPeers(): string {
  const tried = peers.flatMap(({ peer, installed, extension = "", as = "", tests = [], note = "" }) => {
    if (installed === undefined) return [];
    for (const test of tests) {
      if (!existsSync(join(root, test))) throw new Error(`${peer} names ${test}, which does not exist`);
    }
    return [
      `| \`${peer}\` | ${versionOf(peer, installed)} | ${extension} | ${as} | ${tests.map(code).join(", ")} | ${note} |`,
    ];
  });
  const others = peers.flatMap(({ peer, reason }) => (reason === undefined ? [] : [`| \`${peer}\` | ${reason} |`]));
  const heading = ["| peer | version | extension | as | tests | remark |", "| --- | --- | --- | --- | --- | --- |"];
  return [...heading, ...tried, "", "Not tried:", "", "| peer | why |", "| --- | --- |", ...others].join("\n");
}

const code = (text: string) => `\`${text}\``;

function versionOf(peer: string, installed: string): string {
  const lock = JSON.parse(readFileSync(join(root, installed, "package-lock.json"), "utf8"));
  const version: string | undefined = lock.packages[`node_modules/${peer}`]?.version;
  if (version === undefined) throw new Error(`${installed} does not install ${peer}`);
  return version;
}
