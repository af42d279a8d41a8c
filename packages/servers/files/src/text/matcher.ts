import { ToolError } from "portolan/server";

/** Finds lines: for each one that fits, its index and where in it. */
export type Matcher = (lines: readonly string[]) => (readonly [line: number, at: number])[];

export interface Pattern {
  readonly pattern: string;
  readonly isExpression: boolean;
  readonly ignoreCase: boolean;
  /** How long an expression may take over one piece. */
  readonly patternMs: number;
}

/** A longer line is looked at up to here by an expression. */
const maxLine = 10_000;

/** Makes a matcher; a regular expression runs where it can be stopped, since some take for ever. */
export async function createMatcher(pattern: Pattern): Promise<Matcher> {
  return pattern.isExpression ? createExpression(pattern) : createLiteral(pattern);
}

function createLiteral({ pattern, ignoreCase }: Pattern): Matcher {
  const fold = (text: string) => (ignoreCase ? text.toLowerCase() : text);
  const wanted = fold(pattern);
  return (lines) =>
    lines.flatMap((line, index) => {
      const at = fold(line).indexOf(wanted);
      return at < 0 ? [] : [[index, at] as const];
    });
}

async function createExpression({ pattern, ignoreCase, patternMs }: Pattern): Promise<Matcher> {
  const expression = compile(pattern, ignoreCase ? "i" : "");
  const { createContext, Script } = await import("node:vm");
  const sandbox: { expression: RegExp; lines: readonly string[] } = { expression, lines: [] };
  const context = createContext(sandbox);
  const script = new Script(
    "lines.flatMap((line, index) => { const at = line.search(expression); return at < 0 ? [] : [[index, at]]; })",
  );
  return (lines) => {
    sandbox.lines = lines.map((line) => line.slice(0, maxLine));
    try {
      return script.runInContext(context, { timeout: patternMs });
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== "ERR_SCRIPT_EXECUTION_TIMEOUT") throw cause;
      throw new ToolError(`${pattern}: takes too long to match; avoid repeats inside repeats, such as (a+)+`, {
        cause,
      });
    }
  };
}

function compile(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, `${flags}u`);
  } catch {
    // Without the flag more is allowed, such as needless backslashes.
  }
  try {
    return new RegExp(pattern, flags);
  } catch (cause) {
    throw new ToolError(
      `${pattern}: no regular expression (${(cause as Error).message}); regex: false looks for it as it is`,
      { cause },
    );
  }
}
