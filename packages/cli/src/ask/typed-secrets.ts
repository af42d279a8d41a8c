import { redact, type ServerEntry, type ServerTarget } from "portolan-host";
import type { CommandContext } from "../command.ts";

/** A value on the command line that is a secret, and the variable that a file could name instead. */
interface TypedSecret {
  readonly where: "env" | "headers";
  readonly name: string;
  readonly value: string;
  readonly variable: string;
  /** The value with the variable in it. */
  readonly reference: string;
}

/** A flag that keeps a secret out of a file: `--env 'KEY=${KEY}'`. */
interface KeepingFlag {
  readonly flag: "--env" | "--header";
  readonly pair: string;
}

/** Returns the warning about one secret. `all` are the flags for all that are written. */
type SecretWarning = (name: string, all: readonly KeepingFlag[], own: KeepingFlag) => string;

const typedWarning: SecretWarning = (name, _, { flag, pair }) =>
  `the value of ${name} is in the file; to keep it out, write ${flag} '${pair}'`;

/**
 * Offers to write variables instead of the secrets of an entry. Where nobody can be asked, it only warns, by default about
 * secrets on the command line.
 */
export async function replaceSecrets(
  context: CommandContext,
  file: string,
  entry: ServerEntry,
  warning: SecretWarning = typedWarning,
): Promise<{ readonly entry: ServerEntry; readonly warnings: readonly string[] }> {
  const secrets = secretsIn(entry);
  let target = entry.configured;
  const written: (KeepingFlag & { readonly name: string })[] = [];
  for (const secret of secrets) {
    const { where, name, reference } = secret;
    const isWanted = context.screen.isInteractive && (await askReference(context, secret, file));
    if (isWanted) {
      target = { ...target, [where]: { ...pairsOf(target, where), [name]: reference } };
    } else {
      written.push({ flag: where === "env" ? "--env" : "--header", pair: `${name}=${reference}`, name });
    }
  }
  const warnings = written.map((own) => warning(own.name, written, own));
  return { entry: { ...entry, target, configured: target }, warnings };
}

async function askReference(context: CommandContext, { name, variable }: TypedSecret, file: string): Promise<boolean> {
  const { terminal, screen, signal } = context;
  return terminal.ask(signal, async () => {
    terminal.say(
      `${screen.style("yellow", screen.mark("ask"))} ${screen.safe(name)} looks like a secret, and ${screen.safe(file)} is plain text`,
    );
    const reference = {
      key: "r",
      word: "reference",
      label: `write a reference to the variable ${variable}`,
      value: true,
    };
    return terminal.choose([reference, { key: "w", word: "write", label: "write the value", value: false }]);
  });
}

/** Returns the texts of an entry that must not be shown: values of variables, headers and arguments. */
export function secretTextsOf(entry: ServerEntry): string[] {
  const { configured } = entry;
  const args = "command" in configured ? (configured.args ?? []) : [];
  const shown = redact(args) as readonly string[];
  const values = secretsIn(entry).flatMap(({ value }) => [value, value.replace(/^\w+ /, "")]);
  return [...values, ...args.filter((arg, at) => arg !== shown[at])];
}

function secretsIn({ name: server, configured }: ServerEntry): TypedSecret[] {
  const known = (["env", "headers"] as const).flatMap((where) => {
    return Object.entries(pairsOf(configured, where)).map(([name, value]) => ({ where, name, value }));
  });
  return known.flatMap(({ where, name, value }) => {
    const isReference = value.includes("${");
    if (isReference || value.length < minSecretChars || !isSecret(where, name, value)) return [];
    const [, scheme = ""] = /^((?:bearer|basic|token) )/i.exec(value) ?? [];
    const plain = (text: string) => text.toUpperCase().replace(/[^A-Z\d]+/g, "_");
    const own = /^authorization$/i.test(name) ? "TOKEN" : plain(name);
    const variable = where === "env" ? name : `${plain(server).replace(/^(?=\d)/, "_")}_${own}`;
    return [{ where, name, value, variable, reference: `${scheme}\${${variable}}` }];
  });
}

function pairsOf(target: ServerTarget, where: TypedSecret["where"]): { readonly [name: string]: string } {
  if (where === "env") return ("env" in target && target.env) || {};
  const { headers = {} } = "url" in target ? target : {};
  // The command line gives headers as texts.
  return headers as { readonly [name: string]: string };
}

/** Shorter values are placeholders or settings. */
const minSecretChars = 6;

/** Short names that only variables have. */
const secretVariable = /(?:^|_)(?:key|salt|seed|mnemonic|tok|pat|pw|psw|cred|creds)$/i;

/** True if the name or the form of a value tells that it is a secret. */
function isSecret(where: TypedSecret["where"], name: string, value: string): boolean {
  if (where === "env" && secretVariable.test(name)) return true;
  return JSON.stringify(redact({ [name]: value })) !== JSON.stringify({ [name]: value });
}
