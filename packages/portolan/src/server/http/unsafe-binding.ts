import { nameOf, PortolanError } from "../../errors.ts";

/** Says why a server does not listen there, and what to do. */
export function unsafeBinding(host: string): PortolanError {
  return new PortolanError(
    "invalid-argument",
    `host: expected a loopback address without \`verify\` or \`auth\`, got ${nameOf(host)}; authenticate with \`auth\` or \`verify\`, listen on "127.0.0.1", or set \`dangerouslyAllowUnauthenticated\``,
  );
}
