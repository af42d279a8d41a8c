import { type ConfiguredServer, type ServerEntry, skeletonOf } from "portolan-host";
import type { ReadConfigs } from "portolan-host/node";
import { inputVariable } from "../servers/find-server.ts";
import { entryLocation, type Finding, type FindingDetails } from "./finding.ts";

/** Examines configuration files and names, without starting anything. */
export function examineFiles({ entries, shadowed, errors, notes }: ReadConfigs): Finding[] {
  return [
    ...errors.map(({ message }) => ({
      id: "unreadable-file",
      level: "error" as const,
      server: "",
      what: "a configuration file cannot be read",
      why: message.replace(/; correct the file$/, ""),
      next: "correct the file; until then its servers are missing",
    })),
    ...notes.map((note) => ({
      id: "not-done",
      level: "warning" as const,
      server: "",
      what: "a file has a setting that is not supported",
      why: note,
      next: "correct the file, or leave it as it is",
    })),
    ...sameNames(shadowed),
    ...lookalikes(entries),
  ];
}

/** Notes the names that several files define. Products often share a server, so this is no problem by itself. */
function sameNames(shadowed: ReadConfigs["shadowed"]): Finding[] {
  const used = new Map(shadowed.map((pair) => [pair.used.name, pair.used]));
  return [...used].map(([server, entry]) => {
    const others = shadowed.filter((pair) => pair.used.name === server).map((pair) => pair.shadowed);
    const places = others.map(entryLocation).join("; ");
    const isSame = others.every(({ target }) => JSON.stringify(target) === JSON.stringify(entry.target));
    return {
      id: "name-collision",
      level: "note" as const,
      server,
      what: isSame ? "several files define it, in the same way" : "several files define it, and differently",
      why: `used: ${entryLocation(entry)}; not used: ${places}`,
      next: isSame
        ? "nothing is to be done"
        : "nothing is to be done, unless you expected another one: then rename it in its file",
    };
  });
}

/** Finds names that look alike. */
function lookalikes(entries: readonly ServerEntry[]): Finding[] {
  const first = new Map<string, string>();
  return entries.flatMap(({ name }) => {
    const skeleton = skeletonOf(name);
    const other = first.get(skeleton);
    if (other === undefined) first.set(skeleton, name);
    if (other === undefined) return [];
    return {
      id: "name-collision",
      level: "warning" as const,
      server: name,
      what: `its name looks like ${other}`,
      why: "people and models may confuse them",
      next: "rename one of them",
    };
  });
}

/** Explains why an entry cannot be used. */
export function examineEntry(entry: ServerEntry): FindingDetails | undefined {
  const { problem } = entry;
  if (problem === undefined) return undefined;
  const { missing = [] } = entry as Partial<ConfiguredServer>;
  // An input can be asked for at once, so it is named first.
  const value = missing.find(({ kind }) => kind === "input") ?? missing[0];
  if (value) {
    const { kind, name, isSecret } = value;
    const variable = kind === "input" ? inputVariable(name) : name;
    return {
      id: "missing-variable",
      level: "error",
      what: kind === "input" ? `it needs the input ${name}` : `the variable ${name} is not set`,
      why: problem,
      next:
        kind === "input"
          ? `use it in a terminal, where you are asked, or set it: export ${variable}=…`
          : `set it where you start portolan: export ${variable}=…`,
      repair: { kind: "variable", name: variable, isSecret },
    };
  }
  return {
    id: "unusable-entry",
    level: "error",
    what: "its entry is not usable",
    why: problem,
    next: `correct ${entryLocation(entry)}`,
  };
}
