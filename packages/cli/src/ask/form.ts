import type { ElicitValue } from "portolan";
import type { FormAnswer, FormQuestion } from "portolan/host";
import type { Context } from "../command.ts";
import { askField, type FieldSchema } from "./field.ts";
import { heading, warn } from "./heading.ts";

type Step = "send" | "again" | "decline" | "cancel";

/** Asks field by field, and sends nothing before the person has seen it all. */
export async function fillForm(context: Context, question: FormQuestion): Promise<FormAnswer> {
  const { screen, terminal } = context;
  const { server, params, secretFields } = question;
  const { properties = {}, required = [] } = params.requestedSchema;
  const fields = Object.entries(properties);
  heading(context, server, fields.length > 0 ? "asks you to fill in a form" : "asks you");
  terminal.quote(params.message);
  if (fields.length > 0) terminal.say(`  ${screen.style("dim", "Ctrl-D declines, Ctrl-C cancels")}`);
  for (;;) {
    const content: [name: string, value: ElicitValue][] = [];
    for (const [name, schema] of fields) {
      const isSecret = secretFields.includes(name);
      if (isSecret)
        warn(context, "this seems to ask for a secret, which no form should: leave it empty unless you are sure");
      const isRequired = required.includes(name);
      const value = await askField(context, { name, schema: schema as FieldSchema, isRequired, isSecret });
      if (value !== undefined) content.push([name, value as ElicitValue]);
    }
    const secrets = content.filter(([name]) => secretFields.includes(name)).map(([name]) => name);
    if (content.length > 0) {
      const shown = content.map(
        ([name, value]) => `${name}: ${secrets.includes(name) ? "(not shown)" : JSON.stringify(value)}`,
      );
      terminal.say(`  ${screen.style("dim", `this goes to ${screen.safe(server)}`)}`);
      terminal.quote(shown.join("\n"));
    }
    const step = await terminal.choose<Step>([
      { key: "y", label: fields.length > 0 ? "send it" : "yes", value: "send" },
      ...(fields.length > 0 ? [{ key: "e", label: "enter it again", value: "again" } as const] : []),
      { key: "n", label: "decline", value: "decline" },
      { key: "c", label: "cancel", value: "cancel" },
    ]);
    if (step === "again") continue;
    if (step !== "send") return { action: step };
    if (secrets.length === 0) return { action: "accept", content: Object.fromEntries(content) };
    warn(context, `${secrets.join(", ")}: whoever runs ${server} can read and keep it`);
    const isSure = await terminal.choose([
      { key: "y", label: "send the secret, too", value: true },
      { key: "n", label: "decline", value: false },
    ]);
    return isSure
      ? { action: "accept", content: Object.fromEntries(content), sendSecrets: true }
      : { action: "decline" };
  }
}
