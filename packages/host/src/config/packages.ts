import type { ConfigInput, ConfiguredTarget, RawEntry } from "./configured.ts";
import { checkName, type EntryOrigin, readEntry, toRaw } from "./entries.ts";
import { toRequest } from "./inputs.ts";
import { Members } from "./members.ts";
import { isTable, kindOf, type Path, type Table, valueAt } from "./value.ts";

/** How a package of each registry is run, before and after its name and version. */
const runners: { readonly [registryType: string]: Runner } = {
  npm: { command: "npx", before: ["-y"], join: "@" },
  pypi: { command: "uvx", before: [], join: "@" },
  nuget: { command: "dnx", before: ["--yes"], join: "@" },
  oci: { command: "docker", before: ["run", "-i", "--rm"], join: ":", namesVariables: true },
};

interface Runner {
  readonly command: string;
  readonly before: readonly string[];
  /** Stands between the name and the version. */
  readonly join: string;
  /** The program has to be told which variables to hand on. */
  readonly namesVariables?: boolean;
}

/** The servers of a registry's `server.json`: one for every package and remote address. */
export function readPackage(content: Table, nobody: EntryOrigin): readonly RawEntry[] {
  const name = String(content["name"]);
  const places = ["packages", "remotes"].flatMap((kind) => {
    const list = content[kind];
    return Array.isArray(list) ? list.map((value, index) => ({ value, path: [kind, index] })) : [];
  });
  return places.map(({ value, path }, index) => {
    const origin = { ...nobody, name: index === 0 ? name : `${name}#${index + 1}`, path };
    return new Description(value, origin).read();
  });
}

/** One package or address of a `server.json` while it is read: its inputs become placeholders and questions. */
class Description {
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
        "cannot be started here: it has to be started apart, and then has an address",
      );
    }
    const written = runsCommand
      ? this.#command()
      : this.#address(isLocal && isTable(transport) ? transport : this.#table);
    return toRaw(
      this.#origin,
      { configured: written, settings: {}, inputs: [...this.#inputs.values()] },
      this.#members,
    );
  }

  #command(): ConfiguredTarget {
    const type = this.#members.text(["registryType", "registry_type", "registry_name"]) ?? "";
    const runner = Object.hasOwn(runners, type) ? runners[type] : undefined;
    if (!runner) {
      const known = Object.keys(runners).join(", ");
      this.#members.fail(
        [...this.#origin.path, "registryType"],
        `expected one of ${known}; others cannot be run at once`,
      );
      return { command: "" };
    }
    const identifier = this.#members.text(["identifier", "name"]) ?? "";
    if (identifier === "" || identifier.startsWith("-")) {
      this.#members.fail([...this.#origin.path, "identifier"], "expected the name of a package");
    }
    const version = this.#members.text(["version"]);
    const isWhole = version === undefined || /[:@][^/]*$/.test(identifier.slice(1));
    const env = this.#named("environmentVariables");
    const args = [
      ...runner.before,
      ...(runner.namesVariables ? env.flatMap(([variable]) => ["-e", variable]) : []),
      ...this.#arguments("runtimeArguments"),
      isWhole ? identifier : `${identifier}${runner.join}${version}`,
      ...this.#arguments("packageArguments"),
    ];
    const command = this.#members.text(["runtimeHint", "runtime_hint"]);
    if (command !== undefined && command !== runner.command) {
      this.#members.note(
        [...this.#origin.path, "runtimeHint"],
        `not done: ${runner.command} is what runs ${type} packages`,
      );
    }
    return { command: runner.command, args, ...(env.length > 0 ? { env: Object.fromEntries(env) } : {}) };
  }

  #address(table: Table): ConfiguredTarget {
    const headers = this.#named("headers");
    const url = typeof table["url"] === "string" ? this.#template(table["url"], table["variables"]) : "";
    if (url === "") this.#members.fail([...this.#origin.path, "url"], "expected an address, got none");
    return {
      url,
      ...(headers.length > 0 ? { headers: Object.fromEntries(headers) } : {}),
      ...(table["type"] === "sse" ? { legacySse: true } : {}),
    };
  }

  /** Variables or headers: each has a name, and a value or a question. */
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

  /** The value that is written, a question for one that must be given, or nothing. */
  #valueOf(item: Table, id: string, path: Path): string | undefined {
    const { value } = item;
    if (typeof value === "string") return this.#template(value, item["variables"]);
    if (item["isRequired"] !== true && item["isSecret"] !== true) {
      return typeof item["default"] === "string" ? item["default"] : undefined;
    }
    return this.#ask(id, item, path);
  }

  /** `{name}` in a value stands for one of its variables. */
  #template(value: string, variables: unknown): string {
    if (!isTable(variables)) return value;
    return value.replace(/\{([\w.-]{1,128})\}/g, (whole, id: string) => {
      const variable = Object.hasOwn(variables, id) ? variables[id] : undefined;
      return isTable(variable) ? this.#ask(id, variable, [...this.#origin.path, "variables", id]) : whole;
    });
  }

  #ask(id: string, question: Table, path: Path): string {
    this.#inputs.set(id, toRequest(id, new Members(question, path, this.#origin.file)));
    return `\${input:${id}}`;
  }

  #items(member: string): readonly { readonly item: Table; readonly path: Path }[] {
    const list = this.#table[member];
    if (!Array.isArray(list)) return [];
    return list.slice(0, 1_000).flatMap((item, index) => {
      return isTable(item) ? [{ item, path: [...this.#origin.path, member, index] }] : [];
    });
  }
}

/** The one server of an `.mcpb` bundle's manifest; its folder is where the manifest stands. */
export function readBundle(manifest: Table, nobody: EntryOrigin): RawEntry {
  const path = ["server", "mcp_config"];
  const name = typeof manifest["name"] === "string" ? manifest["name"] : "";
  const inputs = new Map<string, ConfigInput>();
  const asked = manifest["user_config"];
  for (const [id, question] of isTable(asked) ? Object.entries(asked) : []) {
    if (isTable(question)) inputs.set(id, toRequest(id, new Members(question, ["user_config", id], nobody.file)));
  }
  const entry = readEntry(valueAt(manifest, path), { ...nobody, name, path, inputs });
  const members = new Members({}, path, nobody.file);
  checkName(name, ["name"], members);
  if (isTable(valueAt(manifest, [...path, "platform_overrides"]))) {
    members.note([...path, "platform_overrides"], "not done: the command for all systems is taken");
  }
  return { ...entry, notes: [...entry.notes, ...members.notes] };
}
