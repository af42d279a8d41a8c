import { batch, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { checkJson, type JsonProblem } from "./check.ts";
import { type JsonError, type JsonNode, type JsonPath, nodeAt, parseJson, printJson, withValue } from "./document.ts";
import { type FormSchema, firstDocument } from "./schema.ts";

/** Options of a document that a person edits. */
export interface EditedDocumentOptions {
  /** Default: a new document with what the schema requires. */
  readonly text?: string;
  /** Puts all defaults of the schema into a new document. Default: those of required members. */
  readonly fill?: boolean;
}

/** A check that takes longer does not run for every key that is pressed. */
const slowCheckMs = 8;
const slowCheckDelayMs = 250;

/** One document with two views: a form, which changes values, and a text, which may be anything while it is typed. */
export class EditedDocument {
  readonly schema: FormSchema;
  readonly #node: Signal<JsonNode | undefined>;
  readonly #error: Signal<JsonError | undefined> = signal(undefined);
  /** The text as it was typed. Undefined after a change in the form, which is printed when it is wanted. */
  #typed: string | undefined;
  /** Counts the changes, for those who keep the text. */
  readonly changes: Signal<number> = signal(0);
  readonly #problems: Signal<readonly JsonProblem[]> = signal([]);
  #checkTook = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(schema: FormSchema, options: EditedDocumentOptions = {}) {
    this.schema = schema;
    this.#node = signal(firstDocument(schema, schema, options.fill ?? false));
    if (options.text !== undefined) this.type(options.text);
    else this.check();
  }

  /** The value. While the text has an error: the last value without one. */
  get node(): ReadonlySignal<JsonNode | undefined> {
    return this.#node;
  }

  /** The place where the text stops being JSON. */
  get error(): ReadonlySignal<JsonError | undefined> {
    return this.#error;
  }

  /** Where the document breaks its schema. It follows a large document a moment later; `check` does not wait. */
  get problems(): ReadonlySignal<readonly JsonProblem[]> {
    return this.#problems;
  }

  /** Checks the document now. */
  check(): readonly JsonProblem[] {
    clearTimeout(this.#timer);
    const from = performance.now();
    const problems = this.#error.peek() ? [] : checkJson(this.#node.peek(), this.schema);
    this.#checkTook = performance.now() - from;
    // The same again: fields that show nothing need not be drawn anew.
    if (problems.length > 0 || this.#problems.peek().length > 0) this.#problems.value = problems;
    return problems;
  }

  #changed(): void {
    this.changes.value += 1;
    clearTimeout(this.#timer);
    if (this.#checkTook < slowCheckMs) this.check();
    else this.#timer = setTimeout(() => this.check(), slowCheckDelayMs);
  }

  /** The document as text. It may have an error. */
  get text(): string {
    if (this.#typed === undefined) {
      const node = this.#node.peek();
      this.#typed = node === undefined ? "" : printJson(node);
    }
    return this.#typed;
  }

  /** Takes a text as it was typed. */
  type(text: string): void {
    const parsed = parseJson(text);
    batch(() => {
      this.#typed = text;
      if ("error" in parsed) this.#error.value = parsed.error;
      else {
        this.#error.value = undefined;
        this.#node.value = parsed.node;
      }
      this.#changed();
    });
  }

  /** Changes one value in the form. Undefined removes it. */
  set(path: JsonPath, value: JsonNode | undefined, order: readonly string[] = []): void {
    batch(() => {
      this.#typed = undefined;
      this.#error.value = undefined;
      this.#node.value = withValue(this.#node.peek(), path, value, order);
      this.#changed();
    });
  }

  at(path: JsonPath): JsonNode | undefined {
    return nodeAt(this.#node.value, path);
  }

  /** Checks that the text is JSON that can be sent. Returns the error, if any. */
  unsendable(): JsonError | undefined {
    const parsed = parseJson(this.text);
    return "error" in parsed ? parsed.error : undefined;
  }

  /** Begins anew. */
  restart(fill = false): void {
    batch(() => {
      this.#typed = undefined;
      this.#error.value = undefined;
      this.#node.value = firstDocument(this.schema, this.schema, fill);
      this.#changed();
    });
  }
}
