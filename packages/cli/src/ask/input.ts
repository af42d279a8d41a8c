import type { ConfigInput } from "portolan-host";
import type { Context } from "../command.ts";
import { askField } from "./field.ts";
import { inTurn } from "./in-turn.ts";

/** Asks the person at the terminal what a file wants to know for a server. */
export function askInput(context: Context, server: string, request: ConfigInput): Promise<string> {
  const { terminal, screen } = context;
  const { id, description, options, password = false } = request;
  const schema = {
    type: "string",
    ...(description !== undefined && { description }),
    ...(options && { enum: options }),
  };
  return inTurn(context, async () => {
    terminal.say(`${screen.style("bold", screen.safe(server))} needs a value that its file does not have:`);
    return String(await askField(context, { name: id, schema, isRequired: true, isSecret: password }));
  });
}
