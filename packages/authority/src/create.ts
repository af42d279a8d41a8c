import type { Authority } from "./authority.ts";
import type { AuthorityOptions } from "./options.ts";

/** Creates an OAuth 2.1 authorization server for MCP servers that have none. */
export async function createAuthority(options: AuthorityOptions): Promise<Authority> {
  const { createAuthority: create } = await withoutRuntimeWarning(() => import("./authority.ts"));
  return create(options);
}

/**
 * Loads the provider without its warning on Node.js 20. We test it on that version, so the warning says nothing that an
 * operator or a user could act upon.
 */
async function withoutRuntimeWarning<T>(load: () => Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = (...words) => {
    if (!/oidc-provider WARNING: Unsupported runtime/.test(String(words[0]))) warn.apply(console, words);
  };
  try {
    return await load();
  } finally {
    console.warn = warn;
  }
}
