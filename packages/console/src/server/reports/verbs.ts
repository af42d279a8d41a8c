import type { ConsoleBase } from "../base.ts";
import { explained } from "../failure.ts";
import { noServer } from "../servers/verbs.ts";
import { name, oneOf, whole } from "../takes.ts";
import { changes, type VerbTable } from "../verbs.ts";
import type { Reports } from "./reports.ts";

export type ReportVerb = "report.start" | "report.cancel" | "login.begin" | "login.again" | "login.cancel" | "logout";

export function reportVerbs({ host, options }: ConsoleBase, reports: Reports): VerbTable<ReportVerb> {
  const known = (server: string) => {
    if (!host.servers.some((one) => one.name === server)) throw noServer(server);
  };
  const cancel = ({ id }: { readonly id: string }) => {
    reports.cancel(id);
    return {};
  };
  return {
    "report.start": changes({ server: name, of: oneOf("doctor", "check") }, ({ server, of }) => {
      known(server);
      return { id: reports.start(server, of) };
    }),
    "report.cancel": changes({ id: name }, cancel),
    "login.begin": changes({ server: name }, ({ server }) => {
      known(server);
      return { id: reports.login(server) };
    }),
    "login.again": changes({ id: name, step: whole(1) }, ({ id, step }) => {
      reports.again(id, step);
      return {};
    }),
    "login.cancel": changes({ id: name }, cancel),
    logout: changes({ server: name }, async ({ server }) => {
      known(server);
      await explained(options.tools.signOut(host, server));
      return {};
    }),
  };
}
