import { maxAppMessageBytes } from "../limits.ts";
import { jsonObject, name } from "../takes.ts";
import { changes, reads, type VerbTable } from "../verbs.ts";
import type { Apps } from "./apps.ts";

export type AppVerb = "app.open" | "app.message" | "app.close";

export function appVerbs(apps: Apps): VerbTable<AppVerb> {
  return {
    "app.open": changes({ call: name }, ({ call }) => ({ id: apps.open(call) })),
    "app.message": reads(
      { id: name, message: jsonObject },
      ({ id, message }) => {
        apps.receive(id, message);
        return {};
      },
      maxAppMessageBytes,
    ),
    "app.close": changes({ id: name }, async ({ id }) => {
      await apps.close(id);
      return {};
    }),
  };
}
