import type { Clock } from "../client/deadlines.ts";
import { nameOf, PortolanError } from "../errors.ts";
import type { RootDefinition } from "./answers/roots.ts";
import type { RootWatch } from "./node/roots.ts";

/** The directories that servers may work in: those that are there, where that can be looked at. */
export class ExposedRoots {
  readonly #clock: Clock;
  readonly #changed: () => void;
  /** Unknown until somebody says which there are. */
  #all: readonly RootDefinition[] | undefined;
  #watching: Promise<RootWatch | undefined> | undefined;
  #watch: RootWatch | undefined;
  #isOver = false;

  /** `changed` is called when there are others than before. */
  constructor(clock: Clock, changed: () => void) {
    this.#clock = clock;
    this.#changed = changed;
  }

  get present(): readonly RootDefinition[] | undefined {
    return this.#watch?.present ?? this.#all;
  }

  async set(roots: readonly RootDefinition[]): Promise<void> {
    for (const { uri } of roots) if (!uri.startsWith("file://")) throw unusable(uri);
    this.#all = roots;
    // Elsewhere than on Node there are no directories to look at.
    this.#watching ??= import("./node/roots.ts").then(
      ({ RootWatch }) => new RootWatch(this.#clock, this.#changed),
      () => undefined,
    );
    const watch = await this.#watching;
    if (this.#isOver) return;
    this.#watch = watch;
    await watch?.set(roots);
    this.#changed();
  }

  end(): void {
    this.#isOver = true;
    this.#watch?.end();
  }
}

function unusable(uri: string): PortolanError {
  const message = `roots: expected an address that begins with file://, got ${nameOf(uri)}; pathToFileURL of node:url makes one of a path`;
  return new PortolanError("invalid-argument", message);
}
