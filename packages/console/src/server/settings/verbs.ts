import { anthropic, openaiCompatible } from "portolan-host/models";
import type { ConsoleBase } from "../base.ts";
import { ApiRefusal } from "../failure.ts";
import { list, name, object, oneOf, optional, text } from "../takes.ts";
import { changes, type VerbTable } from "../verbs.ts";
import type { SettingsRecords } from "./settings.ts";

export type SettingsVerb = "settings.change" | "roots.set" | "model.add" | "grant.revoke" | "grant.restore";

export function settingsVerbs({ host }: ConsoleBase, settings: SettingsRecords): VerbTable<SettingsVerb> {
  return {
    "settings.change": changes(
      { theme: optional(oneOf("system", "light", "dark")), model: optional(name) },
      async ({ request: _, ...changed }) => {
        await settings.change(changed);
        return {};
      },
    ),
    "roots.set": changes(
      { roots: list(object({ uri: name, name: optional(text(200)), for: optional(list(name, 200)) }), 100) },
      async ({ roots }) => {
        await settings.setRoots(roots);
        return {};
      },
    ),
    "model.add": changes(
      {
        provider: oneOf("anthropic", "openai"),
        model: text(200, 1),
        key: text(2_000, 1),
        address: optional(text(2_000)),
      },
      ({ provider, model, key, address }) => {
        const id = `${provider}:${model}`;
        const options = { id, model, apiKey: key };
        const baseUrl = address === undefined || address === "" ? undefined : address;
        settings.addModel(
          provider === "anthropic"
            ? anthropic({ ...options, ...(baseUrl !== undefined && { baseUrl }) })
            : openaiCompatible({ ...options, baseUrl: baseUrl ?? "https://api.openai.com/v1" }),
        );
        // The key must not come back in any text, such as a failure of the provider.
        host.activity.addSecret(key);
        return { id };
      },
    ),
    "grant.revoke": changes({ id: name }, async ({ id }) => {
      if (!(await host.grants.revoke(id))) throw new ApiRefusal("not-found", "There is no such grant.");
      settings.showGrants();
      return {};
    }),
    "grant.restore": changes({ id: name }, async ({ id }) => {
      if (!(await host.grants.restore(id))) {
        throw new ApiRefusal("not-found", "The grant cannot be restored.", {
          next: "It has expired, or you have answered anew since. You are asked when it is needed.",
        });
      }
      settings.showGrants();
      return {};
    }),
  };
}
