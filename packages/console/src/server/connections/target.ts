import type { Host } from "portolan-host";
import type { RenderedTarget } from "portolan-recording";

/** Returns how a server is reached, as a trust question shows it: without the values of secrets. */
export function targetFor(host: Host, server: string): RenderedTarget {
  const { lines } = host.trustSubject(server);
  const valuesOf = (start: string) => lines.filter(({ label }) => label.startsWith(start)).map(({ value }) => value);
  const [url] = valuesOf("Address");
  if (url !== undefined) return { url };
  const [command = ""] = valuesOf("Command");
  const variables = lines.flatMap(({ label, value }) =>
    label === "Variable" ? [value.split(/[=\s]/, 1)[0] ?? ""] : [],
  );
  return { command, args: valuesOf("Argument "), variables };
}
