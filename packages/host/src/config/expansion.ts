import type { RawEntry } from "./configured.ts";
import { conventionOf } from "./conventions.ts";
import type { ExpandOptions } from "./expand.ts";
import { limits } from "./limits.ts";
import { type KnownPlace, type Placeholder, readParts, type Syntax } from "./placeholders.ts";
import { type Path, printPath } from "./value.ts";

const maxProblems = 10;

/** Puts in the variables of one entry, and keeps what was wrong on the way. */
export class Expansion {
  readonly #raw: RawEntry;
  readonly #options: ExpandOptions;
  readonly #syntax: Syntax;
  readonly #problems = new Set<string>();
  readonly #answers = new Map<string, string | undefined>();
  #chars = 0;

  constructor(raw: RawEntry, options: ExpandOptions) {
    this.#raw = raw;
    this.#options = options;
    this.#syntax = conventionOf(raw.source.product)?.syntax ?? [];
  }

  get problem(): string | undefined {
    return this.#problems.size === 0 ? undefined : [...this.#problems].join("; ");
  }

  /** The folder of the file that the entry stands in. */
  get configFolder(): string {
    return this.#raw.source.file.replace(/[/\\]?[^/\\]*$/, "") || ".";
  }

  fail(path: Path, reason: string): void {
    if (this.#problems.size < maxProblems) this.#problems.add(`${reason} (${this.#at(path)})`);
  }

  /** A written string with its values; each is put in as it is, and never read for more placeholders. */
  async expand(written: string, path: Path): Promise<string> {
    let text = "";
    for (const part of readParts(written, this.#syntax)) {
      const value = "text" in part ? part.text : await this.#valueOf(part.placeholder, part.shown, path);
      text += value ?? "";
      this.#chars += value?.length ?? 0;
      if (text.length > limits.stringChars || this.#chars > limits.entryChars) {
        this.fail(path, `expected at most ${limits.stringChars} characters with variables put in, got more`);
        return "";
      }
    }
    return text;
  }

  async #valueOf(placeholder: Placeholder | undefined, shown: string, path: Path): Promise<string | undefined> {
    switch (placeholder?.kind) {
      case undefined:
        return this.#problem(path, `unknown ${shown}`, this.#known());
      case "refused":
        return this.#problem(path, `cannot put in ${shown}`, placeholder.reason);
      case "env": {
        const value = Object.hasOwn(this.#options.env, placeholder.name)
          ? this.#options.env[placeholder.name]
          : undefined;
        // As in a shell, where `:-` stands for what is empty too.
        if (placeholder.fallback !== undefined) return value || placeholder.fallback;
        return value ?? this.#problem(path, `missing ${shown}`, `set ${placeholder.name} or write its value there`);
      }
      case "place":
        return this.#place(placeholder.place) ?? this.#problem(path, `missing ${shown}`, "there is none here");
      case "input":
        return await this.#answer(placeholder.id, shown, path);
    }
  }

  async #answer(id: string, shown: string, path: Path): Promise<string | undefined> {
    const { inputs = {}, input } = this.#options;
    if (Object.hasOwn(inputs, id)) return inputs[id];
    const request = this.#raw.inputs.find((one) => one.id === id);
    // What cannot be started asks nobody.
    const mayAsk = request && input && this.#raw.problem === undefined && !this.#raw.settings.disabled;
    if (mayAsk && !this.#answers.has(id)) this.#answers.set(id, await input(request, this.#raw));
    const answer = this.#answers.get(id);
    if (answer === undefined) return this.#problem(path, `missing ${shown}`, "the user has to be asked for it");
    if (request?.options && !request.options.includes(answer)) {
      return this.#problem(path, `wrong ${shown}`, "the answer is none of the options");
    }
    return answer;
  }

  #place(place: KnownPlace): string | undefined {
    const { userHome, workspaceFolder } = this.#options;
    const slash = this.#separator();
    const atHome = (name: string) => (userHome === undefined ? undefined : `${userHome}${slash}${name}`);
    switch (place) {
      case "userHome":
        return userHome;
      case "workspaceFolder":
        return workspaceFolder;
      case "workspaceFolderBasename":
        return workspaceFolder?.split(/[/\\]/).findLast((name) => name !== "");
      case "pathSeparator":
        return slash;
      case "configFolder":
        return this.configFolder;
      case "desktop":
        return atHome("Desktop");
      case "documents":
        return atHome("Documents");
      case "downloads":
        return atHome("Downloads");
    }
  }

  #separator(): string {
    const { userHome, workspaceFolder } = this.#options;
    return [userHome, workspaceFolder, this.#raw.source.file].some((path) => path?.includes("\\")) ? "\\" : "/";
  }

  #problem(path: Path, what: string, advice: string): undefined {
    if (this.#problems.size < maxProblems) this.#problems.add(`${what} (${this.#at(path)}): ${advice}`);
    return undefined;
  }

  #at(path: Path): string {
    const { source } = this.#raw;
    return `${source.path}${printPath(["_", ...path]).slice(1)} in ${source.file}`;
  }

  #known(): string {
    const examples = this.#syntax.map((form) => form.example).filter((example) => example !== "");
    const { product } = this.#raw.source;
    if (examples.length === 0) return `${product} puts in no variables, so write the value itself`;
    return `a file of ${product} may have ${examples.join(", ")}`;
  }
}
