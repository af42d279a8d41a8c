/** A mistake in an expression. Its message says what was expected, and where. */
export class ExpressionError extends Error {
  override readonly name = "ExpressionError";
}

const constants: ReadonlyMap<string, number> = new Map([
  ["pi", Math.PI],
  ["e", Math.E],
]);

interface MathFunction {
  /** Number of arguments. Default: one or more. */
  readonly takes?: number;
  readonly run: (...values: number[]) => number;
}

const functions: ReadonlyMap<string, MathFunction> = new Map<string, MathFunction>([
  ["abs", { takes: 1, run: Math.abs }],
  ["sqrt", { takes: 1, run: Math.sqrt }],
  ["cbrt", { takes: 1, run: Math.cbrt }],
  ["exp", { takes: 1, run: Math.exp }],
  ["ln", { takes: 1, run: Math.log }],
  ["log", { takes: 1, run: Math.log10 }],
  ["log2", { takes: 1, run: Math.log2 }],
  ["sin", { takes: 1, run: Math.sin }],
  ["cos", { takes: 1, run: Math.cos }],
  ["tan", { takes: 1, run: Math.tan }],
  ["asin", { takes: 1, run: Math.asin }],
  ["acos", { takes: 1, run: Math.acos }],
  ["atan", { takes: 1, run: Math.atan }],
  ["floor", { takes: 1, run: Math.floor }],
  ["ceil", { takes: 1, run: Math.ceil }],
  ["round", { takes: 1, run: Math.round }],
  ["pow", { takes: 2, run: Math.pow }],
  ["min", { run: Math.min }],
  ["max", { run: Math.max }],
]);

/** The names of all functions, for descriptions. */
export const functionNames: readonly string[] = [...functions.keys()];

/**
 * Evaluates an expression such as `2 + 3 * 4`. Throws an `ExpressionError` for a syntax error or a result that is no
 * number. The caller bounds the length of the text, and with it the depth of recursion.
 */
export function evaluate(text: string): number {
  const value = new Parser(text).parse();
  if (!Number.isFinite(value)) {
    throw new ExpressionError(
      "The result is not a finite number: look for a division by 0, or a root or logarithm of a negative number",
    );
  }
  // Fifteen digits hide the error of binary fractions: 0.1 + 0.2 is 0.3.
  return Number(value.toPrecision(15));
}

/**
 * A recursive-descent parser with one method for each level of precedence, weakest first. It never runs the text as code,
 * so no expression can reach the program.
 */
class Parser {
  readonly #tokens: readonly Token[];
  #next = 0;

  constructor(text: string) {
    this.#tokens = toTokens(text);
  }

  parse(): number {
    const value = this.#sum();
    if (this.#token.text !== "") throw this.#expected("an operator or the end");
    return value;
  }

  #sum(): number {
    let value = this.#product();
    for (;;) {
      if (this.#take("+")) value += this.#product();
      else if (this.#take("-")) value -= this.#product();
      else return value;
    }
  }

  #product(): number {
    let value = this.#signed();
    for (;;) {
      if (this.#take("*")) value *= this.#signed();
      else if (this.#take("/")) value /= this.#signed();
      else if (this.#take("%")) value %= this.#signed();
      else return value;
    }
  }

  /** A sign binds weaker than a power: -2^2 is -4. */
  #signed(): number {
    if (this.#take("-")) return -this.#signed();
    if (this.#take("+")) return this.#signed();
    return this.#power();
  }

  /** Powers group from the right: 2^3^2 is 2^9. */
  #power(): number {
    const base = this.#degrees();
    return this.#take("^") || this.#take("**") ? base ** this.#signed() : base;
  }

  #degrees(): number {
    const value = this.#atom();
    return this.#take("deg") || this.#take("°") ? (value * Math.PI) / 180 : value;
  }

  #atom(): number {
    const { text, kind } = this.#token;
    if (kind === "number") {
      this.#next += 1;
      return Number(text);
    }
    if (this.#take("(")) {
      const value = this.#sum();
      this.#need(")");
      return value;
    }
    const constant = constants.get(text);
    if (constant !== undefined) {
      this.#next += 1;
      return constant;
    }
    return this.#call();
  }

  #call(): number {
    const { text: name } = this.#token;
    const known = functions.get(name);
    if (known === undefined) throw this.#expected(`a number, "(", pi, e, or a function (${functionNames.join(", ")})`);
    this.#next += 1;
    this.#need("(");
    const values = [this.#sum()];
    while (this.#take(",")) values.push(this.#sum());
    this.#need(")");
    if (known.takes !== undefined && known.takes !== values.length) {
      throw new ExpressionError(`${name}: expected ${known.takes} argument(s), got ${values.length}`);
    }
    return known.run(...values);
  }

  get #token(): Token {
    return this.#tokens[this.#next] ?? end;
  }

  #take(text: string): boolean {
    if (this.#token.text !== text) return false;
    this.#next += 1;
    return true;
  }

  #need(text: string): void {
    if (!this.#take(text)) throw this.#expected(JSON.stringify(text));
  }

  #expected(what: string): ExpressionError {
    const { text, at } = this.#token;
    return text === ""
      ? new ExpressionError(`Expected ${what} at the end`)
      : new ExpressionError(`Expected ${what} at character ${at}, got ${JSON.stringify(text)}`);
  }
}

interface Token {
  readonly kind: "number" | "other" | "end";
  readonly text: string;
  /** Position in the text, from 1. */
  readonly at: number;
}

const end: Token = { kind: "end", text: "", at: 0 };

/** Splits an expression into numbers, names and signs. A character that fits nowhere becomes a token that no rule takes. */
function toTokens(text: string): Token[] {
  const pattern = /(\d+(?:\.\d*)?(?:e[+-]?\d+)?|\.\d+(?:e[+-]?\d+)?)|([a-z][a-z0-9]*|\*\*|\S)/gi;
  return [...text.matchAll(pattern)].map(({ 0: found, 1: number, index }) => ({
    kind: number === undefined ? "other" : "number",
    text: signs.get(found) ?? found.toLowerCase(),
    at: index + 1,
  }));
}

/** Typographic signs that people paste, and what they mean. */
const signs: ReadonlyMap<string, string> = new Map([
  ["×", "*"],
  ["·", "*"],
  ["÷", "/"],
  ["−", "-"],
  ["π", "pi"],
]);
