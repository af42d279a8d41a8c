import type { ConfigInput, ConfiguredTarget, RawEntry } from "./configured.ts";
import { checkName, type EntryOrigin, readEntry, toRaw } from "./entries.ts";
import { toConfigInput } from "./inputs.ts";
import { maxItems } from "./limits.ts";
import { Members } from "./members.ts";
import { isTable, kindOf, type Path, type Table, valueAt } from "./value.ts";

/** The command that runs a package of each registry. */
const runners: { readonly [registryType: string]: Runner } = {
  npm: { command: "npx", before: ["-y"], join: "@" },
  pypi: { command: "uvx", before: [], join: "@" },
  nuget: { command: "dnx", before: ["--yes"], join: "@" },
  oci: { command: "docker", before: ["run", "-i", "--rm"], join: ":", namesVariables: true },
};

interface Runner {
  readonly command: string;
  readonly before: readonly string[];
  /** The separator between the name and the version. */
  readonly join: string;
  /** The command needs a flag for each environment variable that it forwards. */
  readonly namesVariables?: boolean;
}

/** Reads the servers of a registry's `server.json`: one for each package and each remote URL. */
export function readPackage(content: Table, fileOrigin: EntryOrigin): readonly RawEntry[] {
  const name = String(content["name"]);
  const places = ["packages", "remotes"].flatMap((kind) => {
    const list = content[kind];
    return Array.isArray(list) ? list.map((value, index) => ({ value, path: [kind, index] })) : [];
  });
  return places.map(({ value, path }, index) => {
    const origin = { ...fileOrigin, name: index === 0 ? name : `${name}#${index + 1}`, path };
    return new PackageReader(value, origin).read();
  });
}

/** Reads one package or remote of a `server.json`. Its inputs become placeholders. */
class PackageReader {
  readonly #origin: EntryOrigin;
  readonly #table: Table;
  readonly #members: Members;
  readonly #inputs = new Map<string, ConfigInput>();

  constructor(value: unknown, origin: EntryOrigin) {
    this.#origin = origin;
    this.#table = isTable(value) ? value : {};
    this.#members = new Members(this.#table, origin.path, origin.file);
    if (!isTable(value)) this.#members.fail(origin.path, `expected an object, got ${kindOf(value)}`);
  }

  read(): RawEntry {
    const transport = this.#table["transport"];
    const isLocal = this.#origin.path[0] === "packages";
    const runsCommand = isLocal && (!isTable(transport) || transport["type"] === "stdio");
    if (isLocal && !runsCommand) {
      this.#members.fail(
        this.#origin.path,
        "cannot be started here: the package serves HTTP; start it yourself and configure its URL",
      );
    }
    const configured = runsCommand
      ? this.#command()
      : this.#remote(isLocal && isTable(transport) ? transport : this.#table);
    return toRaw(this.#origin, { configured, settings: {}, inputs: [...this.#inputs.values()] }, this.#members);
  }

  #command(): ConfiguredTarget {
    const type = this.#members.text(["registryType", "registry_type", "registry_name"]) ?? "";
    const runner = Object.hasOwn(runners, type) ? runners[type] : undefined;
    if (!runner) {
      const known = Object.keys(runners).join(", ");
      this.#members.fail(
        [...this.#origin.path, "registryType"],
        `expected one of ${known}; install other packages yourself and configure their command`,
      );
      return { command: "" };
    }
    const identifier = this.#members.text(["identifier", "name"]) ?? "";
    if (identifier === "" || identifier.startsWith("-")) {
      this.#members.fail([...this.#origin.path, "identifier"], "expected the name of a package, got none or an option");
    }
    const version = this.#members.text(["version"]);
    const isWhole = version === undefined || /[:@][^/]*$/.test(identifier.slice(1));
    const env = this.#named("environmentVariables");
    const own = this.#arguments("runtimeArguments");
    // Many entries begin with arguments that every package of this kind is run with.
    const first = own.findIndex((argument) => !runner.before.includes(argument));
    const args = [
      ...runner.before,
      ...(runner.namesVariables ? env.flatMap(([variable]) => ["-e", variable]) : []),
      ...(first < 0 ? [] : own.slice(first)),
      isWhole ? identifier : `${identifier}${runner.join}${version}`,
      ...this.#arguments("packageArguments"),
    ];
    const command = this.#members.text(["runtimeHint", "runtime_hint"]);
    if (command !== undefined && command !== runner.command) {
      this.#members.note(
        [...this.#origin.path, "runtimeHint"],
        `ignored: ${type} packages are run with ${runner.command}`,
      );
    }
    return { command: runner.command, args, ...(env.length > 0 ? { env: Object.fromEntries(env) } : {}) };
  }

  #remote(table: Table): ConfiguredTarget {
    const headers = this.#named("headers");
    const url = typeof table["url"] === "string" ? this.#template(table["url"], table["variables"]) : "";
    if (url === "") this.#members.fail([...this.#origin.path, "url"], "expected a URL, got none");
    return {
      url,
      ...(headers.length > 0 ? { headers: Object.fromEntries(headers) } : {}),
      ...(table["type"] === "sse" ? { legacySse: true } : {}),
    };
  }

  /** Reads variables or headers. Each has a name, and a value or an input. */
  #named(member: string): readonly (readonly [string, string])[] {
    return this.#items(member).flatMap(({ item, path }) => {
      const name = item["name"];
      if (typeof name !== "string") this.#members.fail(path, "expected a name, got none");
      const value = this.#valueOf(item, String(name), path);
      return typeof name === "string" && value !== undefined ? [[name, value] as const] : [];
    });
  }

  #arguments(member: string): readonly string[] {
    return this.#items(member).flatMap(({ item, path }) => {
      const name = typeof item["name"] === "string" ? item["name"] : undefined;
      const hint = typeof item["valueHint"] === "string" ? item["valueHint"] : undefined;
      const isNamed = item["type"] === "named" && name !== undefined;
      const hasValue = ["value", "default", "isRequired", "choices"].some((one) => item[one] !== undefined);
      if (isNamed && !hasValue) return [name];
      const value = this.#valueOf(item, name?.replace(/^-+/, "") ?? hint ?? `argument${path.at(-1)}`, path);
      if (value === undefined) return [];
      return isNamed ? [name, value] : [value];
    });
  }

  /** Returns the value, a placeholder for a value that the user must enter, or undefined. */
  #valueOf(item: Table, id: string, path: Path): string | undefined {
    const { value } = item;
    if (typeof value === "string") return this.#template(value, item["variables"]);
    if (item["isRequired"] !== true && item["isSecret"] !== true) {
      return typeof item["default"] === "string" ? item["default"] : undefined;
    }
    return this.#addInput(id, item, path);
  }

  /** Replaces `{name}` in a value with a placeholder for that variable. */
  #template(value: string, variables: unknown): string {
    if (!isTable(variables)) return value;
    return value.replace(/\{([\w.-]{1,128})\}/g, (whole, id: string) => {
      const variable = Object.hasOwn(variables, id) ? variables[id] : undefined;
      return isTable(variable) ? this.#addInput(id, variable, [...this.#origin.path, "variables", id]) : whole;
    });
  }

  #addInput(id: string, input: Table, path: Path): string {
    this.#inputs.set(id, toConfigInput(id, new Members(input, path, this.#origin.file)));
    return `\${input:${id}}`;
  }

  #items(member: string): readonly { readonly item: Table; readonly path: Path }[] {
    const list = this.#table[member];
    if (!Array.isArray(list)) return [];
    return list.slice(0, maxItems).flatMap((item, index) => {
      return isTable(item) ? [{ item, path: [...this.#origin.path, member, index] }] : [];
    });
  }
}

/** Reads the one server of an `.mcpb` bundle's manifest. Its folder is the folder of the manifest. */
export function readBundle(manifest: Table, fileOrigin: EntryOrigin): RawEntry {
  const path = ["server", "mcp_config"];
  const name = typeof manifest["name"] === "string" ? manifest["name"] : "";
  const inputs = new Map<string, ConfigInput>();
  const userConfig = manifest["user_config"];
  for (const [id, input] of isTable(userConfig) ? Object.entries(userConfig) : []) {
    if (isTable(input)) inputs.set(id, toConfigInput(id, new Members(input, ["user_config", id], fileOrigin.file)));
  }
  const entry = readEntry(valueAt(manifest, path), { ...fileOrigin, name, path, inputs });
  const members = new Members({}, path, fileOrigin.file);
  checkName(name, ["name"], members);
  if (isTable(valueAt(manifest, [...path, "platform_overrides"]))) {
    members.note([...path, "platform_overrides"], "ignored: the command for all platforms is used");
  }
  return { ...entry, notes: [...entry.notes, ...members.notes] };
}
