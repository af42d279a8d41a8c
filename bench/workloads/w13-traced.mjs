import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { LoadedServer, withLoad } from "../driver/http-calls.mjs";
import { interleave } from "../driver/interleave.mjs";
import { Samples } from "../driver/stats.mjs";
import { having } from "../implementations.mjs";

const at = (path) => fileURLToPath(new URL(path, import.meta.url));

/** Traced servers: without an SDK, with one, and with the least that any program does with one. */
const folders = {
  "without an SDK": at("../servers/traced"),
  "with the SDK": at("../../test/peers/bench/otel"),
  "by hand": at("../../test/peers/bench/otel-by-hand"),
};

/** Numerators and denominators of the rows. The base of all is the untraced server. */
const rowsOf = [
  ["without an SDK", "untraced"],
  ["with the SDK", "by hand"],
  ["by hand", "untraced"],
  ["with the SDK", "untraced"],
];

/** The cost of `traceServer` over HTTP: server CPU of a call over that of another server. Nothing is sent. */
export async function run({ quick, notes }) {
  const [plain] = having("http", "stateless").filter(({ name }) => name === "portolan");
  if (!plain || !existsSync(at("../../test/peers/node_modules/@opentelemetry/sdk-trace-node"))) {
    notes.push("not measured: the SDK of OpenTelemetry is not installed");
    return [];
  }
  // All are portolan to the load generator.
  const subjects = Object.entries(folders).map(([name, folder]) => ({ name, subject: { ...plain, folder } }));
  return withLoad(async (load) => {
    const rows = [];
    for (const era of ["stateful", "stateless"]) {
      const samples = new Samples();
      await interleave({
        implementations: [{ name: "untraced", subject: plain }, ...subjects],
        rounds: quick ? 1 : 3,
        repetitions: quick ? 3 : 6,
        notes,
        open: ({ subject }) => new LoadedServer(load, subject, { era }),
        warm: (_, server) => server.pump(10_000),
        async measure(name, server, repetition) {
          const { cpu } = await server.pump(10_000);
          samples.add(name, repetition, cpu);
        },
      });
      for (const [name, base] of rowsOf) {
        const cells = { portolan: { value: samples.ratio(name, base) } };
        rows.push({ metric: `W13 traced ${name} ÷ ${base}, ${era}`, unit: "×", shown: "value", cells });
      }
    }
    return rows;
  });
}
