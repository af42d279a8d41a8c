import { join } from "node:path";
import type { Grant, HostEvent, RootDefinition } from "portolan-host";
import type { Model } from "portolan-host/models";
import type { ModelRecord, RootRecord, Settings } from "../../api.ts";
import type { ConsoleBase } from "../base.ts";
import { ApiRefusal } from "../failure.ts";
import { readJsonFile, writePrivateFile } from "../files.ts";
import { grantsMs, maxModels } from "../limits.ts";

/** The settings of the console, its models, and the folders and grants of its host. */
export class SettingsRecords {
  readonly #base: ConsoleBase;
  readonly #file: string;
  #settings: Settings = { theme: "system" };
  #models: readonly Model[];
  #grantsTimer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(base: ConsoleBase) {
    this.#base = base;
    this.#file = join(base.options.folder, "settings.json");
    this.#models = base.options.models;
  }

  async load(): Promise<void> {
    const { theme, model } = ((await readJsonFile(this.#file)) ?? {}) as { theme?: unknown; model?: unknown };
    this.#settings = {
      theme: theme === "light" || theme === "dark" ? theme : "system",
      ...(typeof model === "string" && this.findModel(model) && { model }),
    };
  }

  get settings(): Settings {
    return this.#settings;
  }

  get models(): readonly ModelRecord[] {
    return this.#models.map(toRecord);
  }

  get roots(): readonly RootRecord[] {
    return this.#base.host.roots.map(({ uri, name, for: servers }) => ({
      uri,
      ...(name !== undefined && { name }),
      ...(servers && { for: servers }),
    }));
  }

  get grants(): readonly Grant[] {
    return this.#base.host.grants.list();
  }

  findModel(id: string): Model | undefined {
    return this.#models.find((model) => model.id === id);
  }

  /** Returns the model of a new conversation. */
  get defaultModel(): Model | undefined {
    return (this.#settings.model !== undefined && this.findModel(this.#settings.model)) || this.#models[0];
  }

  hear({ kind }: HostEvent): void {
    if (kind === "roots") this.#base.publish({ kind: "roots", roots: this.roots });
    // A grant may be used many times in a moment.
    if (kind === "grant" || kind === "lost") this.#grantsTimer ??= setTimeout(() => this.showGrants(), grantsMs);
  }

  showGrants(): void {
    clearTimeout(this.#grantsTimer);
    this.#grantsTimer = undefined;
    this.#base.publish({ kind: "grants", grants: this.grants });
  }

  async change(changed: Partial<Settings>): Promise<void> {
    if (changed.model !== undefined && !this.findModel(changed.model)) throw noModel(changed.model);
    this.#settings = { ...this.#settings, ...changed };
    this.#base.publish({ kind: "settings", settings: this.#settings });
    const text = JSON.stringify({ version: 1, ...this.#settings });
    this.#writing = this.#writing.catch(() => {}).then(() => writePrivateFile(this.#file, text));
    await this.#writing;
  }

  addModel(model: Model): void {
    if (this.#models.length >= maxModels) throw new ApiRefusal("busy", "There are too many models.");
    this.#models = [...this.#models.filter(({ id }) => id !== model.id), model];
    this.#base.host.setModels(this.#models);
    this.#base.publish({ kind: "models", models: this.models });
  }

  async setRoots(roots: readonly RootDefinition[]): Promise<void> {
    await this.#base.host.setRoots(roots);
  }
}

export function noModel(id: string): ApiRefusal {
  return new ApiRefusal("not-found", `There is no model ${JSON.stringify(id.slice(0, 200))}.`);
}

/** The context of a model that does not tell its own, as the host assumes it. */
const defaultContextTokens = 32_000;

function toRecord({ id, capabilities, notice }: Model): ModelRecord {
  return {
    id,
    label: id,
    isDemo: notice !== undefined,
    contextTokens: capabilities.contextTokens ?? defaultContextTokens,
    ...(notice !== undefined && { notice }),
  };
}
