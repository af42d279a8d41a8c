import type { JsonObject, PromptArgument } from "portolan";
import type { ConfigInput, Host } from "portolan-host";
import type { FieldSchema } from "../arguments/field-schema.ts";
import type { CommandContext } from "../command.ts";
import { interruption } from "../failure.ts";
import { QuestionDismissed } from "../terminal/input.ts";
import { askField } from "./field.ts";

interface Described {
  readonly properties?: { readonly [name: string]: FieldSchema };
  readonly required?: readonly string[];
}

/** Asks for required arguments of a tool that are missing, if there is a person. */
export async function askMissing(context: CommandContext, given: JsonObject, schema: JsonObject): Promise<JsonObject> {
  const { properties = {}, required = [] } = schema as Described;
  const missing = required.filter((name) => !Object.hasOwn(given, name) && Object.hasOwn(properties, name));
  if (missing.length === 0 || !context.screen.isInteractive) return given;
  return askOrInterrupt(context, async () => {
    const asked: [name: string, value: unknown][] = [];
    for (const name of missing) {
      asked.push([name, await askField(context, { name, schema: properties[name] ?? {}, isRequired: true })]);
    }
    return { ...given, ...Object.fromEntries(asked) };
  });
}

/** Proposes values for an argument. `known` holds the other arguments. */
export type Propose = (
  argument: string,
  value: string,
  known: { [name: string]: string },
) => Promise<readonly string[]>;

/** Returns a function that asks the server for values of a prompt argument. */
export function proposeFor(host: Host, server: string, prompt: string, signal: AbortSignal): Propose {
  return async (name, value, known) => {
    const ref = { type: "ref/prompt", name: prompt } as const;
    const { values } = await host.complete(server, ref, { name, value }, { signal, known });
    return values;
  };
}

/** Asks for required arguments of a prompt that are missing. Tab shows the values that the server proposes. */
export async function askMissingOfPrompt(
  context: CommandContext,
  given: { readonly [name: string]: string },
  declared: readonly PromptArgument[],
  propose: Propose,
): Promise<{ [name: string]: string }> {
  const missing = declared.filter(({ name, required }) => required && given[name] === undefined);
  if (missing.length === 0) return given;
  return askOrInterrupt(context, async () => {
    const filled = { ...given };
    for (const { name, title, description } of missing) {
      const schema = {
        type: "string",
        ...(title !== undefined && { title }),
        ...(description !== undefined && { description }),
      };
      const complete = async (line: string) => [await propose(name, line, filled), line] as const;
      filled[name] = String(await askField(context, { name, schema, isRequired: true, complete }));
    }
    return filled;
  });
}

/** Asks for an input that a configuration file leaves open. */
export function askInput(context: CommandContext, server: string, request: ConfigInput): Promise<string> {
  const { terminal, screen } = context;
  const { id, description, options, password = false } = request;
  const schema = {
    type: "string",
    ...(description !== undefined && { description }),
    ...(options && { enum: options }),
  };
  return askOrInterrupt(context, async () => {
    terminal.say(`${screen.style("bold", screen.safe(server))} needs a value that is not in its configuration file:`);
    return String(await askField(context, { name: id, schema, isRequired: true, isSecret: password }));
  });
}

/** Asks a question that the command cannot go on without. Dismissing it interrupts the command. */
function askOrInterrupt<T>(
  { terminal, signal }: Pick<CommandContext, "terminal" | "signal">,
  work: () => Promise<T>,
): Promise<T> {
  return terminal.ask(signal, work).catch((reason: unknown) => {
    if (reason instanceof QuestionDismissed) throw interruption();
    throw reason;
  });
}
