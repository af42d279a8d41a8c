import type { ElicitValue } from "portolan";
import type { FormAnswer, FormQuestion } from "portolan-host";
import type { FieldSchema } from "../arguments/field-schema.ts";
import type { CommandContext } from "../command.ts";
import { PreviousField } from "../terminal/input.ts";
import { askField } from "./field.ts";

type Step = "send" | "again" | "decline" | "cancel";

/** Asks field by field. Sends nothing before the person has seen all values. */
export async function askForm(context: CommandContext, question: FormQuestion): Promise<FormAnswer> {
  const { screen, terminal } = context;
  const { server, params, secretFields } = question;
  const { properties = {}, required = [] } = params.requestedSchema;
  const fields = Object.entries(properties);
  terminal.heading("", server, fields.length > 0 ? " asks you to fill in a form" : " asks you");
  terminal.quote(params.message);
  const back = fields.length > 1 ? ", Shift-Tab goes back" : "";
  if (fields.length > 0) terminal.say(`  ${screen.style("dim", `Ctrl-D declines, Ctrl-C cancels${back}`)}`);
  const entered = new Map<string, unknown>();
  for (;;) {
    for (let at = 0; at < fields.length; ) {
      const [name, schema] = fields[at] ?? ["", {}];
      const isSecret = secretFields.includes(name);
      if (isSecret)
        terminal.warn("this looks like a secret, which no form should ask for: leave it empty unless you are sure");
      const field = { name, schema: schema as FieldSchema, isRequired: required.includes(name), isSecret };
      try {
        entered.set(name, await askField(context, { ...field, before: entered.get(name), hasBack: at > 0 }));
        at += 1;
      } catch (reason) {
        if (!(reason instanceof PreviousField)) throw reason;
        at -= 1;
      }
    }
    const content = fields.flatMap(([name]): [name: string, value: ElicitValue][] => {
      const value = entered.get(name);
      return value === undefined ? [] : [[name, value as ElicitValue]];
    });
    const secrets = content.filter(([name]) => secretFields.includes(name)).map(([name]) => name);
    if (content.length > 0) {
      terminal.say(`  ${screen.style("dim", `to be sent to ${screen.safe(server)}`)}`);
      // Each value on its own: no name can imitate another line.
      for (const [name, value] of content) {
        const entry = secrets.includes(name) ? "(not shown)" : JSON.stringify(value);
        terminal.bar(screen.safe(`${name}: ${entry}`));
      }
    }
    const step = await terminal.choose<Step>([
      { key: "y", word: "yes", label: fields.length > 0 ? "send it" : "yes", value: "send" },
      ...(fields.length > 0 ? [{ key: "e", label: "edit", value: "again" } as const] : []),
      { key: "n", word: "no", label: "decline", value: "decline" },
      { key: "c", label: "cancel", value: "cancel" },
    ]);
    if (step === "again") continue;
    if (step !== "send") return { action: step };
    if (secrets.length === 0) return { action: "accept", content: Object.fromEntries(content) };
    terminal.warn(`${secrets.join(", ")}: the operator of ${server} can read and store it`);
    const isSure = await terminal.choose([
      { key: "y", word: "yes", label: "send the secret anyway", value: true },
      { key: "n", word: "no", label: "decline", value: false },
    ]);
    return isSure
      ? { action: "accept", content: Object.fromEntries(content), sendSecrets: true }
      : { action: "decline" };
  }
}
