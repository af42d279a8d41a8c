import { redact } from "portolan-host";
import { Failure } from "../failure.ts";
import { isTable, parseTable, type Table } from "./fetch.ts";
import { maxManifestBytes } from "./limits.ts";

/** The name of the manifest in a bundle. */
export const manifestName = "manifest.json";

/** A value that a bundle asks its user for. */
export interface UserOption {
  readonly type: "string" | "number" | "boolean" | "directory" | "file";
  readonly title: string;
  readonly description: string;
  readonly required?: boolean;
  readonly default?: string | number | boolean | readonly string[];
  readonly multiple?: boolean;
  readonly sensitive?: boolean;
  readonly min?: number;
  readonly max?: number;
}

/** How a bundle starts, with its placeholders. */
export interface BundleCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: { readonly [name: string]: string };
}

/** The members of a manifest that this command uses. */
export interface Manifest {
  readonly manifestVersion: string;
  readonly name: string;
  readonly version: string;
  readonly description: string;
  readonly displayName?: string;
  readonly serverType: string;
  readonly entryPoint: string;
  readonly command: BundleCommand;
  /** Other commands, by platform. Members that are absent are those of `command`. */
  readonly overrides: { readonly [platform: string]: Partial<BundleCommand> };
  readonly userConfig: { readonly [name: string]: UserOption };
  /** The platforms that the bundle runs on. Undefined for all. */
  readonly platforms: readonly string[] | undefined;
  /** Files of the bundle that the manifest names. */
  readonly files: readonly string[];
}

/** The kind of a value: `text?` may be absent, `text[]` is a list. */
type Kind = "text" | "flag" | "number" | "table" | "text[]" | "table[]" | "any";
type Shape = { readonly [member: string]: Kind | `${Kind}?` };

const topShape: Shape = {
  ...{ $schema: "text?", dxt_version: "text?", manifest_version: "text?", name: "text", display_name: "text?" },
  ...{ version: "text", description: "text", long_description: "text?", author: "table", repository: "table?" },
  ...{ homepage: "text?", documentation: "text?", support: "text?", icon: "text?", icons: "table[]?" },
  ...{ screenshots: "text[]?", localization: "table?", server: "table", tools: "table[]?", tools_generated: "flag?" },
  ...{ prompts: "table[]?", prompts_generated: "flag?", keywords: "text[]?", license: "text?" },
  ...{ privacy_policies: "text[]?", compatibility: "table?", user_config: "table?", _meta: "table?" },
};
const serverShape: Shape = { type: "text", entry_point: "text", mcp_config: "table?" };
const commandShape: Shape = { command: "text", args: "text[]?", env: "table?", platform_overrides: "table?" };
const overrideShape: Shape = { command: "text?", args: "text[]?", env: "table?" };
const optionShape: Shape = {
  ...{ type: "text", title: "text", description: "text", required: "flag?", default: "any?", multiple: "flag?" },
  ...{ sensitive: "flag?", min: "number?", max: "number?" },
};

const versions = ["0.1", "0.2", "0.3", "0.4"];
/** Members that older versions of the format do not have, and the version that brought them. */
const newMembers: { readonly [member: string]: string } = {
  privacy_policies: "0.2",
  icons: "0.3",
  localization: "0.3",
  _meta: "0.3",
};
const serverTypes = ["node", "python", "binary", "uv"];
const optionTypes = ["string", "number", "boolean", "directory", "file"];

/** A manifest, and what is wrong with it. */
export interface CheckedManifest {
  readonly manifest: Manifest;
  /** Mistakes that do not keep a bundle from starting, such as unknown members. */
  readonly problems: readonly string[];
}

/** Reads the manifest of a bundle, versions 0.1 to 0.4. Fails with every reason for which the bundle cannot start. */
export function readManifest(bytes: Buffer): CheckedManifest {
  if (bytes.length > maxManifestBytes) {
    throw new Failure("usage", `${manifestName} has ${bytes.length} bytes; at most ${maxManifestBytes} are read`);
  }
  return new ManifestReader(parseTable(bytes.toString("utf8").replace(/^\uFEFF/, ""), manifestName)).read();
}

class ManifestReader {
  readonly #table: Table;
  readonly #errors: string[] = [];
  readonly #problems: string[] = [];

  constructor(table: Table) {
    this.#table = table;
  }

  read(): CheckedManifest {
    const top = this.#table;
    this.#checkShape("", top, topShape);
    const version = String(top["manifest_version"] ?? top["dxt_version"]);
    if (!versions.includes(version)) {
      this.#errors.push(`manifest_version: expected ${versions.join(", ")}, got ${version.slice(0, 20)}`);
    }
    for (const [member, since] of Object.entries(newMembers)) {
      if (top[member] !== undefined && version < since)
        this.#problems.push(`${member}: needs manifest_version ${since}`);
    }
    const author = tableOf(top["author"]);
    if (typeof author["name"] !== "string" || author["name"] === "") this.#errors.push("author: name: expected a text");
    const server = tableOf(top["server"]);
    this.#checkShape("server: ", server, serverShape);
    const type = String(server["type"]);
    if (!serverTypes.includes(type) || (type === "uv" && version < "0.4")) {
      this.#errors.push(`server: type: expected node, python, binary or (since 0.4) uv, got ${type.slice(0, 20)}`);
    }
    const entryPoint = String(server["entry_point"] ?? "");
    if (entryPoint === "" || !isInside(entryPoint))
      this.#errors.push("server: entry_point: expected a path in the bundle");
    const config = tableOf(server["mcp_config"]);
    const command =
      server["mcp_config"] === undefined
        ? defaultCommand(type, entryPoint)
        : this.#command("server: mcp_config: ", config, commandShape);
    if (server["mcp_config"] === undefined) this.#problems.push("server: mcp_config: expected an object, got none");
    const overrides = Object.entries(tableOf(config["platform_overrides"])).map(([platform, value]) => {
      const where = `server: mcp_config: platform_overrides: ${platform}: `;
      const own = tableOf(value);
      const read = this.#command(where, own, overrideShape);
      const given = Object.entries(read).filter(([member]) => own[member] !== undefined);
      return [platform, Object.fromEntries(given)] as const;
    });
    const options = Object.entries(tableOf(top["user_config"])).map(([name, value]) => {
      this.#checkOption(`user_config: ${name}: `, tableOf(value));
      return [name, value as UserOption] as const;
    });
    const shown = redact(command.env) as { readonly [name: string]: unknown };
    for (const [name, value] of Object.entries(command.env)) {
      if (value === "" || shown[name] === value || value.includes("$" + "{")) continue;
      this.#problems.push(`server: mcp_config: env: ${name} has a secret; ask for it in user_config, with "sensitive"`);
    }
    this.#checkAddresses(top);
    const { platforms } = tableOf(top["compatibility"]);
    const icons = Array.isArray(top["icons"]) ? top["icons"].map((icon) => tableOf(icon)["src"]) : [];
    const named = [top["icon"], ...icons, ...(Array.isArray(top["screenshots"]) ? top["screenshots"] : [])];
    if (this.#errors.length > 0) {
      throw new Failure("usage", `${manifestName} is not valid: ${this.#errors.slice(0, maxErrors).join("; ")}`);
    }
    return {
      manifest: {
        ...{ manifestVersion: version, serverType: type, entryPoint, command },
        ...{ name: String(top["name"]), version: String(top["version"]), description: String(top["description"]) },
        ...(typeof top["display_name"] === "string" && { displayName: top["display_name"] }),
        overrides: Object.fromEntries(overrides),
        userConfig: Object.fromEntries(options),
        platforms: Array.isArray(platforms) ? platforms.map(String) : undefined,
        files: named.filter((file) => typeof file === "string" && !/^[a-z]+:/i.test(file)),
      },
      problems: this.#problems,
    };
  }

  /** Checks what only directories of bundles read. */
  #checkAddresses(top: Table): void {
    const { author, repository } = { author: tableOf(top["author"]), repository: tableOf(top["repository"]) };
    const policies = Array.isArray(top["privacy_policies"]) ? top["privacy_policies"] : [];
    const addresses: (readonly [where: string, value: unknown])[] = [
      ...["homepage", "documentation", "support"].map((member) => [member, top[member]] as const),
      ["author: url", author["url"]],
      ["repository: url", repository["url"]],
      ...policies.map((policy) => ["privacy_policies", policy] as const),
    ];
    for (const [where, value] of addresses) {
      if (value !== undefined && !URL.canParse(String(value)))
        this.#problems.push(`${where}: expected a whole address`);
    }
    if (top["repository"] !== undefined) {
      for (const member of ["type", "url"]) {
        if (typeof repository[member] !== "string") this.#problems.push(`repository: ${member}: expected a text`);
      }
    }
    const { email } = author;
    if (email !== undefined && !/^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(String(email))) {
      this.#problems.push("author: email: expected an address of mail");
    }
    const authorMembers = Object.keys(author).filter((member) => !["name", "email", "url"].includes(member));
    for (const member of authorMembers) this.#problems.push(`author: ${member.slice(0, 60)}: unknown member`);
    for (const icon of Array.isArray(top["icons"]) ? top["icons"] : []) {
      const { src, size } = tableOf(icon);
      if (typeof src !== "string") this.#problems.push("icons: src: expected a text");
      if (typeof size !== "string" || !/^\d+x\d+$/.test(size))
        this.#problems.push("icons: size: expected a size such as 48x48");
    }
  }

  #command(where: string, table: Table, shape: Shape): BundleCommand {
    this.#checkShape(where, table, shape);
    const { command, args = [], env } = table;
    const variables = Object.entries(tableOf(env));
    if (variables.some(([, value]) => typeof value !== "string")) this.#errors.push(`${where}env: expected texts`);
    return {
      command: String(command),
      args: Array.isArray(args) ? args.map(String) : [],
      env: Object.fromEntries(variables.map(([name, value]) => [name, String(value)])),
    };
  }

  #checkOption(where: string, option: Table): void {
    this.#checkShape(where, option, optionShape);
    const { type, default: proposed, sensitive } = option;
    if (!optionTypes.includes(String(type))) this.#errors.push(`${where}type: expected ${optionTypes.join(", ")}`);
    const isTexts = Array.isArray(proposed) && proposed.every((one) => typeof one === "string");
    if (typeof proposed === "object" && !isTexts)
      this.#errors.push(`${where}default: expected a value, or a list of texts`);
    if (sensitive === true && proposed !== undefined && proposed !== "") {
      this.#problems.push(`${where}default: a secret has none, because anyone can read it`);
    }
  }

  /** Errors are members of the wrong type, problems those that the format does not have. */
  #checkShape(where: string, table: Table, shape: Shape): void {
    for (const [member, kind] of Object.entries(shape)) {
      const value = table[member];
      const isOptional = kind.endsWith("?");
      if (value === undefined && isOptional) continue;
      const wanted = isOptional ? kind.slice(0, -1) : kind;
      if (!isOf(wanted, value)) this.#errors.push(`${where}${member}: expected ${words[wanted]}`);
    }
    for (const member of Object.keys(table)) {
      if (!Object.hasOwn(shape, member)) this.#problems.push(`${where}${member.slice(0, 60)}: unknown member`);
    }
  }
}

const maxErrors = 10;

const words: { readonly [kind: string]: string } = {
  ...{ text: "a text", flag: "true or false", number: "a number", table: "an object" },
  ...{ "text[]": "a list of texts", "table[]": "a list of objects" },
};

function isOf(kind: string, value: unknown): boolean {
  if (kind.endsWith("[]")) return Array.isArray(value) && value.every((one) => isOf(kind.slice(0, -2), one));
  if (kind === "text") return typeof value === "string" && value !== "";
  if (kind === "flag") return typeof value === "boolean";
  if (kind === "table") return isTable(value);
  return kind === "number" ? typeof value === "number" : true;
}

function tableOf(value: unknown): Table {
  return isTable(value) ? value : {};
}

/** True for a path that stays in its folder. */
export function isInside(path: string): boolean {
  return !/^([/\\]|[a-z]:)/i.test(path) && !path.split(/[\\/]/).includes("..");
}

/** Returns the command of a bundle that names only its file. */
function defaultCommand(type: string, entryPoint: string): BundleCommand {
  const folder = "$" + "{__dirname}";
  const file = `${folder}/${entryPoint}`;
  if (type === "binary") return { command: file, args: [], env: {} };
  if (type === "uv") return { command: "uv", args: ["run", "--directory", folder, entryPoint], env: {} };
  return { command: type, args: [file], env: {} };
}
