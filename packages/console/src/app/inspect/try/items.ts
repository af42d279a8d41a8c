import type { CatalogRecord, SkillRow } from "../../../api.ts";

export type TryKind = "tool" | "resource" | "prompt" | "skill";

/** Something of a server that can be tried. */
export interface TryItem {
  readonly kind: TryKind | "template";
  /** Unique within its kind. */
  readonly id: string;
  readonly name: string;
  readonly about: string;
  readonly group: string;
  readonly lower: string;
  readonly lowerAbout: string;
  readonly row:
    | CatalogRecord["tools"][number]
    | CatalogRecord["prompts"][number]
    | CatalogRecord["resources"][number]
    | CatalogRecord["templates"][number]
    | SkillRow;
}

/** A row of the list: a heading, or an item with the place that was searched for. */
export interface FoundItem {
  readonly heading?: string;
  readonly item?: TryItem;
  readonly at: number;
  readonly length: number;
}

const reads = "Says it only reads";
const changes = "Changes something";
const destroys = "May destroy";
const unmarked = "Unmarked";

/** Returns what a server offers of one kind, in its groups. Skills are no part of its catalog. */
export function itemsOf(catalog: CatalogRecord, kind: TryKind, skills: readonly SkillRow[]): readonly TryItem[] {
  if (kind === "skill") return skills.map((row) => item("skill", row.uri, row.name, row.description, "Skills", row));
  if (kind === "prompt") {
    return catalog.prompts.map((row) =>
      item("prompt", row.name, row.name, row.description ?? row.title ?? "", "Prompts", row),
    );
  }
  if (kind === "resource") {
    return [
      ...catalog.templates.map((row) =>
        item("template", row.uriTemplate, row.title ?? row.name, row.uriTemplate, "Templates", row),
      ),
      ...catalog.resources.map((row) => item("resource", row.uri, row.title ?? row.name, row.uri, "Resources", row)),
    ];
  }
  const groups = [reads, changes, unmarked, destroys];
  const tools = catalog.tools.map((row) => {
    const group = row.isReadOnly ? reads : row.isUnmarked ? unmarked : row.isDestructive ? destroys : changes;
    return item("tool", row.name, row.name, row.description ?? row.title ?? "", group, row);
  });
  return tools.sort((one, other) => groups.indexOf(one.group) - groups.indexOf(other.group));
}

function item(
  kind: TryItem["kind"],
  id: string,
  name: string,
  about: string,
  group: string,
  row: TryItem["row"],
): TryItem {
  return { kind, id, name, about, group, row, lower: name.toLowerCase(), lowerAbout: about.toLowerCase() };
}
