import type { ConfigInput, RawEntry } from "./configured.ts";
import { checkName, type EntryOrigin, readEntry } from "./entries.ts";
import { toRequest } from "./inputs.ts";
import { Members } from "./members.ts";
import { isTable, type Table, valueAt } from "./value.ts";

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
