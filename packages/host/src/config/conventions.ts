import type { ConfigFormat } from "./configured.ts";
import type { Syntax } from "./placeholders.ts";
import { syntaxes } from "./placeholders.ts";
import { type Shape, shapes } from "./shapes.ts";
import { isTable, type Path, type Table, valueAt } from "./value.ts";

/**
 * A base folder for configuration files. `appData` has the settings of the user's applications, `system` the settings
 * that an administrator makes for all users.
 */
export type PlaceFolder = "project" | "home" | "appData" | "xdg" | "system";

/** The path of a configuration file of a product. */
export interface ConfigLocation {
  readonly folder: PlaceFolder;
  /** Uses `/` on every platform. */
  readonly path: string;
  readonly platforms?: readonly string[];
}

/** The file locations and syntax of one product. */
export interface Convention {
  readonly product: string;
  readonly format: ConfigFormat;
  readonly places: readonly ConfigLocation[];
  /** Paths of the servers in the file. New servers are written to the first. */
  readonly at: readonly Path[];
  /** The servers are a list, and each item has a `name`. */
  readonly isList?: boolean;
  /** Servers of single projects, below a member whose name is the path of the project. */
  readonly projectsAt?: { readonly projects: Path; readonly servers: Path };
  /** The path of the definitions for `${input:…}`. */
  readonly inputsAt?: Path;
  /** The file describes one package or bundle instead of listing servers. It is never written. */
  readonly describes?: "package" | "bundle";
  /** Recognizes a file with another name by its content. */
  readonly matches?: (content: Table) => boolean;
  readonly shape: Shape;
  readonly syntax: Syntax;
  /** The placeholders that the product itself supports, if it supports fewer than are read. */
  readonly writes?: Syntax;
}

const mcpServers: Path = ["mcpServers"];
const has = (path: Path) => (content: Table) => isTable(valueAt(content, path));
const project = (path: string): ConfigLocation => ({ folder: "project", path });
const home = (path: string): ConfigLocation => ({ folder: "home", path });
const appData = (path: string): ConfigLocation => ({ folder: "appData", path });
const system = (path: string, platforms: readonly string[]): ConfigLocation => ({ folder: "system", path, platforms });
const notWindows: readonly string[] = ["linux", "darwin"];

/** All known conventions. If a content matches several, the first one wins. */
export const conventions: readonly Convention[] = [
  {
    product: "bundle",
    format: "json",
    places: [],
    at: [["server", "mcp_config"]],
    describes: "bundle",
    matches: (content) =>
      has(["server", "mcp_config"])(content) && ("manifest_version" in content || "dxt_version" in content),
    shape: shapes.plain,
    syntax: syntaxes.bundle,
  },
  {
    product: "registry",
    format: "json",
    places: [],
    at: [["packages"], ["remotes"]],
    describes: "package",
    matches: (content) =>
      typeof content["name"] === "string" && (Array.isArray(content["packages"]) || Array.isArray(content["remotes"])),
    shape: shapes.plain,
    syntax: syntaxes.registry,
  },
  {
    product: "claude-code",
    format: "json",
    places: [
      project(".mcp.json"),
      home(".claude.json"),
      system("claude-code/managed-mcp.json", ["linux"]),
      system("ClaudeCode/managed-mcp.json", ["darwin", "win32"]),
    ],
    at: [mcpServers],
    projectsAt: { projects: ["projects"], servers: mcpServers },
    matches: (content) => has(mcpServers)(content) || has(["projects"])(content),
    shape: shapes.portable,
    syntax: syntaxes.portable,
  },
  {
    product: "vscode",
    format: "json",
    places: [project(".vscode/mcp.json"), appData("Code/User/mcp.json"), appData("Code - Insiders/User/mcp.json")],
    at: [["servers"]],
    inputsAt: ["inputs"],
    matches: has(["servers"]),
    shape: shapes.portable,
    syntax: syntaxes.editor,
  },
  {
    product: "vscode-settings",
    format: "json",
    places: [project(".vscode/settings.json"), appData("Code/User/settings.json")],
    at: [["mcp", "servers"]],
    inputsAt: ["mcp", "inputs"],
    matches: has(["mcp", "servers"]),
    shape: shapes.portable,
    syntax: syntaxes.editor,
  },
  {
    product: "cursor",
    format: "json",
    places: [project(".cursor/mcp.json"), home(".cursor/mcp.json")],
    at: [mcpServers],
    shape: shapes.cursor,
    syntax: syntaxes.editor,
  },
  {
    product: "claude-desktop",
    format: "json",
    places: [appData("Claude/claude_desktop_config.json")],
    at: [mcpServers],
    shape: shapes.plain,
    syntax: syntaxes.none,
  },
  {
    product: "copilot",
    format: "json",
    places: [home(".copilot/mcp-config.json")],
    at: [mcpServers],
    shape: shapes.copilot,
    syntax: syntaxes.both,
  },
  {
    product: "codex",
    format: "toml",
    places: [project(".codex/config.toml"), home(".codex/config.toml")],
    at: [["mcp_servers"]],
    matches: has(["mcp_servers"]),
    shape: shapes.codex,
    syntax: syntaxes.envColon,
    writes: syntaxes.none,
  },
  {
    product: "gemini",
    format: "json",
    places: [project(".gemini/settings.json"), home(".gemini/settings.json")],
    at: [mcpServers],
    shape: shapes.gemini,
    syntax: syntaxes.gemini,
  },
  {
    product: "goose",
    format: "yaml",
    places: [
      { folder: "xdg", path: "goose/config.yaml", platforms: notWindows },
      { folder: "appData", path: "Block/goose/config/config.yaml", platforms: ["win32"] },
    ],
    at: [["extensions"]],
    matches: has(["extensions"]),
    shape: shapes.goose,
    syntax: syntaxes.envColon,
    writes: syntaxes.none,
  },
  {
    product: "windsurf",
    format: "json",
    places: [home(".codeium/windsurf/mcp_config.json")],
    at: [mcpServers],
    shape: shapes.windsurf,
    syntax: syntaxes.envColon,
  },
  {
    product: "zed",
    format: "json",
    places: [
      project(".zed/settings.json"),
      { folder: "xdg", path: "zed/settings.json", platforms: notWindows },
      { folder: "appData", path: "Zed/settings.json", platforms: ["win32"] },
    ],
    at: [["context_servers"]],
    matches: has(["context_servers"]),
    shape: shapes.zed,
    syntax: syntaxes.none,
  },
  {
    product: "opencode",
    format: "json",
    places: [
      project("opencode.json"),
      project("opencode.jsonc"),
      { folder: "xdg", path: "opencode/opencode.json" },
      { folder: "xdg", path: "opencode/opencode.jsonc" },
    ],
    at: [["mcp"]],
    matches: has(["mcp"]),
    shape: shapes.opencode,
    syntax: syntaxes.opencode,
  },
  {
    product: "cline",
    format: "json",
    places: [appData("Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json")],
    at: [mcpServers],
    shape: shapes.cline,
    syntax: syntaxes.envColon,
  },
  {
    product: "kiro",
    format: "json",
    places: [project(".kiro/settings/mcp.json"), home(".kiro/settings/mcp.json")],
    at: [mcpServers],
    shape: shapes.kiro,
    syntax: syntaxes.both,
  },
  {
    product: "inspector",
    format: "json",
    places: [home(".mcp-inspector/mcp.json")],
    at: [mcpServers],
    shape: shapes.inspector,
    syntax: syntaxes.both,
  },
  {
    product: "librechat",
    format: "yaml",
    places: [project("librechat.yaml")],
    at: [mcpServers],
    shape: shapes.librechat,
    syntax: syntaxes.librechat,
  },
  {
    product: "continue",
    format: "yaml",
    places: [home(".continue/config.yaml")],
    at: [mcpServers],
    isList: true,
    matches: (content) => Array.isArray(content["mcpServers"]),
    shape: shapes.continue,
    syntax: syntaxes.continue,
  },
  {
    product: "mcphost",
    format: "yaml",
    places: [".mcphost.yml", ".mcphost.yaml", ".mcphost.json"].flatMap((name) => [project(name), home(name)]),
    at: [mcpServers],
    shape: shapes.mcphost,
    syntax: syntaxes.mcphost,
  },
  {
    product: "portolan",
    format: "json",
    places: [appData("portolan/mcp.json")],
    at: [mcpServers],
    shape: shapes.portable,
    syntax: syntaxes.portable,
  },
];

/** The product whose convention is used for new files; most other products read it too. */
export const portableProduct = "claude-code";

/** Returns the convention of a product. */
export function conventionOf(product: string): Convention | undefined {
  return conventions.find((convention) => convention.product === product);
}

interface Recognised {
  readonly convention: Convention;
  /** Absent if only the name of the file matches, not its folder. */
  readonly place?: ConfigLocation;
}

/**
 * Returns the convention that a file name belongs to: the longest known path that matches, or a name that only one
 * product uses.
 */
export function recognise(file: string): Recognised | undefined {
  const path = `/${file.replaceAll("\\", "/")}`;
  let best: { readonly convention: Convention; readonly place: ConfigLocation } | undefined;
  const byName = new Set<Convention>();
  for (const convention of conventions) {
    for (const place of convention.places) {
      const isLonger = place.path.length > (best?.place.path.length ?? 0);
      if (isLonger && path.endsWith(`/${place.path}`)) best = { convention, place };
      if (path.endsWith(`/${place.path.split("/").at(-1)}`)) byName.add(convention);
    }
  }
  const [only, ...others] = byName;
  return best ?? (only && others.length === 0 ? { convention: only } : undefined);
}
