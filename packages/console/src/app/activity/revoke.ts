import type { ConsolePage } from "../state/console.ts";

/** Revokes grants, and offers to take this back. Resolves to false if one could not be revoked. */
export async function revokeGrants(page: ConsolePage, ids: readonly string[], words: string): Promise<boolean> {
  const revoked: string[] = [];
  for (const id of ids) if (await page.attempt(() => page.api.change("grant.revoke", { id }))) revoked.push(id);
  if (revoked.length < ids.length) return false;
  const restore = async () => {
    for (const id of revoked) await page.attempt(() => page.api.change("grant.restore", { id }));
  };
  page.toast(words, { tone: "ok", action: { label: "Undo", run: () => void restore() } });
  return true;
}
