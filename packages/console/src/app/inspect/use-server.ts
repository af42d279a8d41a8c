import type { ServerRecord } from "../../api.ts";
import { usePage } from "../state/console.ts";

/** The server that the address names. */
export function useServer(): ServerRecord | undefined {
  const page = usePage();
  const [name] = page.route.value.path;
  return name === undefined ? undefined : page.store.servers.get(name).value;
}
